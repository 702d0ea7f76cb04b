package framework_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// An old process that still looks for its peers finds nobody of the next attempt where it looks.
func TestEachAttemptInPlaceMeetsAtAPortOfItsOwn(t *testing.T) {
	inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
	for _, c := range []struct {
		framework v1alpha1.Framework
		port      int32
		options   []builder.JobOption
		want      []int32 // in the attempts 0, 1, 15 and 16
		variables []string
	}{
		{v1alpha1.PyTorch, 29500, []builder.JobOption{inPlace}, []int32{29500, 29501, 29515, 29500}, []string{"MASTER_PORT", "PET_MASTER_PORT"}},
		{v1alpha1.PyTorch, 65530, []builder.JobOption{inPlace}, []int32{65530, 65530, 65530, 65530}, []string{"MASTER_PORT"}},
		{v1alpha1.PyTorch, 29500, []builder.JobOption{inPlace, builder.Elastic(1, 4)}, []int32{29500, 29501, 29515, 29500}, []string{"PET_RDZV_ENDPOINT"}},
		{v1alpha1.PyTorch, 29500, nil, []int32{29500, 29500, 29500, 29500}, nil},
		{v1alpha1.JAX, 1234, []builder.JobOption{inPlace}, []int32{1234, 1235, 1249, 1234}, []string{"COORDINATOR_PORT", "JAX_COORDINATOR_ADDRESS"}},
		{v1alpha1.XGBoost, 9999, []builder.JobOption{inPlace}, []int32{9999, 10000, 10014, 9999}, []string{"MASTER_PORT", "DMLC_TRACKER_PORT"}},
		{v1alpha1.TensorFlow, 0, []builder.JobOption{inPlace}, []int32{0, 0, 0, 0}, nil},
		{v1alpha1.LightGBM, 0, []builder.JobOption{inPlace}, []int32{0, 0, 0, 0}, nil},
	} {
		job := builder.Job("j", append(c.options, builder.Framework(c.framework), builder.Workers(2))...)
		worker := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		if c.port == 65530 {
			worker.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "pytorchjob-port", ContainerPort: c.port}}
			job.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		}
		var got []int32
		for _, attempt := range []int{0, 1, 15, 16} {
			got = append(got, build.LeaderPort(job, attempt))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s from %d: ports %v, want %v", c.framework, c.port, got, c.want)
		}
		env := framework.Environment(job)(state.Slot{Role: v1alpha1.Worker, Index: 1})
		told := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == v1alpha1.EnvLeaderPort })
		if (told >= 0) != (len(c.variables) > 0) {
			t.Errorf("%s from %d: %s is variable %d", c.framework, c.port, v1alpha1.EnvLeaderPort, told)
		}
		for _, name := range c.variables { // a variable can refer to those before it only
			at := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
			if at < told || !strings.HasSuffix(env[at].Value, "$("+v1alpha1.EnvLeaderPort+")") {
				t.Errorf("%s from %d: %s, variable %d behind %d, is %q", c.framework, c.port, name, at, told, env[at].Value)
			}
		}
	}
}
