package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A pod that is created alone agrees with its peers of the attempt in variables, ports and probes, although fields of a running
// job may have changed. Each pod has its own settings for progress and for torchrun's own restarts.
func TestWhatMayChangeAtAnyTimeChangesNoPodOfTheAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		began, other := builder.ArbitraryJob().Draw(t, "job"), builder.ArbitraryJob().Draw(t, "another")
		began.Spec.Suspend = nil
		began.Status = plan.Make(builder.Snapshot(began, builder.NoService())).Status
		changed := began.DeepCopy()
		changed.Spec.Recovery, changed.Spec.RunPolicy, changed.Spec.Progress = other.Spec.Recovery, other.Spec.RunPolicy, other.Spec.Progress
		changed.Spec.SuccessPolicy = other.Spec.SuccessPolicy
		for role, replicas := range changed.Spec.ReplicaSpecs {
			theirs := other.Spec.ReplicaSpecs[v1alpha1.Worker]
			replicas.RestartPolicy, replicas.RestartScope = theirs.RestartPolicy, theirs.RestartScope
			changed.Spec.ReplicaSpecs[role] = replicas
		}
		changed.Status = plan.Make(builder.Snapshot(changed, builder.NoService())).Status
		for role := range began.Spec.ReplicaSpecs {
			step := plan.CreatePod{Slot: state.Slot{Role: role}, Life: state.Life{Attempt: int(began.Status.Attempt), Replacement: 1}, Placement: &plan.Placement{}}
			made, now := ownOf(plan.Pods(began)(step)), ownOf(plan.Pods(changed)(step))
			if !equality.Semantic.DeepEqual(made, now) {
				t.Fatalf("%s (-created +would be created now):\n%s", role, cmp.Diff(made, now))
			}
		}
	})
}

// ownOf returns the pod without the fields that may differ between the pods of an attempt.
func ownOf(pod *corev1.Pod) *corev1.Pod {
	isFree := func(v corev1.EnvVar) bool {
		return slices.Contains([]string{"TRAININGJOB_PROGRESS_PORT", "TRAININGJOB_CHECKPOINT_REQUEST_FILE", "PET_MAX_RESTARTS"}, v.Name)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env = slices.DeleteFunc(containers[i].Env, isFree)
			containers[i].VolumeMounts = slices.DeleteFunc(containers[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "trainingjob-stop" })
		}
	}
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "trainingjob-stop" })
	return pod
}
