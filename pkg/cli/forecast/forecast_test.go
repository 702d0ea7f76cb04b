package forecast_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestOfANewJob(t *testing.T) {
	gpus := builder.Of(v1alpha1.Worker, builder.Template(func(pod *corev1.PodTemplateSpec) {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	}))
	brief := builder.Of(v1alpha1.Worker, builder.Template(func(pod *corev1.PodTemplateSpec) { pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5) }))
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		want string
	}{
		{"a collective with a gang", builder.Job("mnist", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), gpus, builder.Gang(v1alpha1.GangNative)), `team-a/mnist, PyTorch: 2 Worker; requests 16 nvidia.com/gpu
  creates service mnist
  creates group mnist-0
  creates mnist-worker-0
  creates mnist-worker-1
  if Worker breaks, it restarts the whole job
  a restart of the whole job creates new pods for all replicas; it keeps the pods of healthy replicas if each template has terminationGracePeriodSeconds: 5
  fails at its 11th failure of its own in 24h; lost nodes and deletions do not count
  warns   No volume outlives a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md).
`},
		{"a collective whose ranks end at once", builder.Job("quick", builder.Framework(v1alpha1.JAX), builder.Workers(1), brief), `team-a/quick, JAX: 1 Worker
  creates service quick
  creates quick-worker-0
  if Worker breaks, it restarts the whole job
  a restart of the whole job keeps the pods of healthy replicas
  fails at its 11th failure of its own in 24h; lost nodes and deletions do not count
  warns   No volume outlives a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md).
`},
		{"workers that do not depend on each other", builder.Job("sweep", builder.Workers(10)), `team-a/sweep, Custom: 10 Worker
  creates service sweep
  creates sweep-worker-0
  creates sweep-worker-1
  creates sweep-worker-2
  creates sweep-worker-3
  creates sweep-worker-4
  creates sweep-worker-5
  creates sweep-worker-6
  creates 3 more
  if Worker breaks, it restarts that replica alone
  fails at its 11th failure of its own in 24h; lost nodes and deletions do not count
  warns   No volume outlives a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md).
`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := forecast.Of(c.job, builder.Epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("forecast (-want +got):\n%s", diff)
			}
		})
	}
}

// What is next after a failure is that it is counted; nothing is deleted in the same pass.
func TestNextAfterAFailure(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(1), builder.RunsSince(0), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0"}))
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodFailed, builder.Exit(3), builder.At(10*time.Second))
	p, _ := state.PodOf(job.Name, pod)
	got, err := forecast.Next(&state.Observed{Now: builder.Epoch.Add(20 * time.Second), Job: job, Pods: []state.Pod{p}, HasService: true, LostAfter: forecast.LostAfter})
	if err != nil {
		t.Fatal(err)
	}
	want := `team-a/mnist: Running ReplicaFailed
  counts  worker-0 on node-worker-0 exited with code 3 (Error): only this replica is replaced, restart 1 of 10.
  warns   No volume outlives a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md).
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forecast (-want +got):\n%s", diff)
	}
}
