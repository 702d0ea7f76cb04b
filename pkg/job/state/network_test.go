package state_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Who has a name in DNS. Whose peers are in TF_CONFIG, a host file or a list of machines keeps it, whatever the default is for others.
func TestNames(t *testing.T) {
	framework := func(f v1alpha1.Framework) builder.JobOption {
		return func(j *v1alpha1.TrainingJob) { j.Spec.Framework = f }
	}
	names := func(n v1alpha1.DNSNames) builder.JobOption {
		return func(j *v1alpha1.TrainingJob) { j.Spec.Network = &v1alpha1.Network{DNSNames: n} }
	}
	all, leader := []bool{true, true}, []bool{true, false}
	cases := []struct {
		name    string
		options []builder.JobOption
		want    []bool
	}{
		{"PyTorch", []builder.JobOption{framework(v1alpha1.PyTorch)}, leader},
		{"PyTorch, elastic", []builder.JobOption{framework(v1alpha1.PyTorch), builder.Elastic(1, 2)}, all},
		{"PyTorch, all", []builder.JobOption{framework(v1alpha1.PyTorch), names(v1alpha1.DNSNamesAll)}, all},
		{"JAX", []builder.JobOption{framework(v1alpha1.JAX)}, leader},
		{"TensorFlow", []builder.JobOption{framework(v1alpha1.TensorFlow)}, all},
		{"MPI", []builder.JobOption{framework(v1alpha1.MPI)}, all},
		{"XGBoost", []builder.JobOption{framework(v1alpha1.XGBoost)}, all},
		{"LightGBM", []builder.JobOption{framework(v1alpha1.LightGBM)}, all},
		{"Paddle", []builder.JobOption{framework(v1alpha1.Paddle)}, all},
		{"Custom", []builder.JobOption{framework(v1alpha1.Custom)}, all},
		{"Custom, leader", []builder.JobOption{framework(v1alpha1.Custom), names(v1alpha1.DNSNamesLeader)}, leader},
	}
	for _, c := range cases {
		job := builder.Job("j", append(c.options, builder.Workers(2))...)
		for i, want := range c.want {
			if got := state.IsNamed(&job.Spec, state.Slot{Role: v1alpha1.Worker, Index: i}); got != want {
				t.Errorf("%s: that worker %d can be found is %t, want %t", c.name, i, got, want)
			}
		}
	}
}
