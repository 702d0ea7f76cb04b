package build_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Kubernetes' default dnsPolicy shows a pod with hostNetwork the names of its node alone, so ranks would never find their leader.
func TestAPodOnTheNetworkOfItsNodeFindsNames(t *testing.T) {
	for _, c := range []struct {
		onHost       bool
		policy, want corev1.DNSPolicy
	}{
		{true, "", "ClusterFirstWithHostNet"},
		{true, "None", "None"},
		{true, "ClusterFirst", "ClusterFirst"},
		{false, "", ""},
	} {
		job := builder.Job("j", pytorch, builder.Workers(2, builder.Template(func(template *corev1.PodTemplateSpec) {
			template.Spec.HostNetwork, template.Spec.DNSPolicy = c.onHost, c.policy
		})))
		if got := build.Pod(job, worker1, state.Life{}, nil, nil).Spec.DNSPolicy; got != c.want {
			t.Errorf("hostNetwork %t, dnsPolicy %q: %q, want %q", c.onHost, c.policy, got, c.want)
		}
	}
}

// Two pods that listen at one port of a node do not get the same node. The ports that the operator declares do not fix the port of an attempt.
func TestAPodOnTheNetworkOfItsNodeDeclaresWhereItListens(t *testing.T) {
	var meet []int32
	for port := range int32(16) {
		meet = append(meet, 29500+port)
	}
	declares := func(name string, port int32) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers[0].Ports = []corev1.ContainerPort{{Name: name, ContainerPort: port}}
		}))
	}
	onHost := builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.HostNetwork = true }))
	inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
	for name, c := range map[string]struct {
		framework v1alpha1.Framework
		slot      state.Slot
		options   []builder.JobOption
		want      []int32
	}{
		"the leader":                      {v1alpha1.PyTorch, state.Slot{Role: v1alpha1.Worker}, []builder.JobOption{onHost, inPlace}, meet},
		"the leader, on its own network":  {v1alpha1.PyTorch, state.Slot{Role: v1alpha1.Worker}, []builder.JobOption{inPlace}, nil},
		"another rank":                    {v1alpha1.PyTorch, worker1, []builder.JobOption{onHost}, nil},
		"the leader, as declared":         {v1alpha1.PyTorch, state.Slot{Role: v1alpha1.Worker}, []builder.JobOption{onHost, declares("pytorchjob-port", 7000)}, []int32{7000}},
		"the leader, beside its page":     {v1alpha1.PyTorch, state.Slot{Role: v1alpha1.Worker}, []builder.JobOption{onHost, declares("page", 29505)}, meet},
		"a parameter server":              {v1alpha1.TensorFlow, state.Slot{Role: v1alpha1.PS}, []builder.JobOption{onHost, builder.PS(1), onHost}, []int32{2222}},
		"an evaluator, which only reads":  {v1alpha1.TensorFlow, state.Slot{Role: v1alpha1.Evaluator}, []builder.JobOption{builder.Replicas(v1alpha1.Evaluator, 1), onHost}, nil},
		"each rank of LightGBM":           {v1alpha1.LightGBM, worker1, []builder.JobOption{onHost}, []int32{12400}},
		"sshd of a worker":                {v1alpha1.MPI, worker1, []builder.JobOption{builder.Leader(v1alpha1.Launcher), onHost}, []int32{2222}},
		"mpirun":                          {v1alpha1.MPI, state.Slot{Role: v1alpha1.Launcher}, []builder.JobOption{builder.Leader(v1alpha1.Launcher), onHost}, nil},
		"a program of its own connection": {v1alpha1.Custom, worker1, []builder.JobOption{onHost}, nil},
	} {
		job := builder.Job("j", append([]builder.JobOption{builder.Framework(c.framework), builder.Workers(2)}, c.options...)...)
		var got []int32
		for _, port := range build.Pod(job, c.slot, state.Life{}, nil, nil).Spec.Containers[0].Ports {
			got = append(got, port.ContainerPort)
			if port.Name == "" && (port.HostPort != port.ContainerPort || port.Protocol != corev1.ProtocolTCP) {
				t.Errorf("%s: port %+v", name, port)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s declares %v, want %v", name, got, c.want)
		}
		if next := build.LeaderPort(job, 1); name == "the leader" && next != 29501 {
			t.Errorf("attempt 1 meets at %d", next)
		}
	}
}
