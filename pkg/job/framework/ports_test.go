package framework_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Under a service mesh that wants all traffic encrypted the replicas reach each other only at ports that their Service has.
func TestTheServiceHasThePortsOfTheFramework(t *testing.T) {
	declares := func(name string, port int32) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers[0].Ports = append(pod.Containers[0].Ports, corev1.ContainerPort{Name: name, ContainerPort: port})
		}))
	}
	many := func(job *v1alpha1.TrainingJob) {
		for i := range int32(300) {
			declares("", 10_000+i)(job)
		}
	}
	each := func(first, last int32) (ports []int32) {
		for port := first; port <= last; port++ {
			ports = append(ports, port)
		}
		return ports
	}
	for name, c := range map[string]struct {
		framework v1alpha1.Framework
		options   []builder.JobOption
		want      []int32
	}{
		"one for each attempt":            {v1alpha1.PyTorch, nil, each(29500, 29515)},
		"the one that is declared":        {v1alpha1.JAX, []builder.JobOption{declares("jaxjob-port", 6666)}, []int32{6666}},
		"and others":                      {v1alpha1.XGBoost, []builder.JobOption{declares("metrics", 9000)}, append([]int32{9000}, each(9999, 10014)...)},
		"that of TensorFlow's servers":    {v1alpha1.TensorFlow, []builder.JobOption{builder.PS(1)}, []int32{2222}},
		"as declared":                     {v1alpha1.TensorFlow, []builder.JobOption{builder.PS(1), declares("tfjob-port", 2300)}, []int32{2300}},
		"LightGBM's":                      {v1alpha1.LightGBM, nil, []int32{12400}},
		"Paddle's":                        {v1alpha1.Paddle, nil, []int32{36543}},
		"sshd's":                          {v1alpha1.MPI, []builder.JobOption{builder.Leader(v1alpha1.Launcher)}, []int32{2222}},
		"none":                            {v1alpha1.Custom, nil, nil},
		"as many as an EndpointSlice has": {v1alpha1.Custom, []builder.JobOption{many}, each(10_000, 10_099)},
	} {
		job := builder.Job("j", append([]builder.JobOption{builder.Framework(c.framework), builder.Workers(2)}, c.options...)...)
		if got := framework.Ports(job); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
