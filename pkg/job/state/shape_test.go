package state_test

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestWhatMPISaysIsPartOfTheShape(t *testing.T) {
	slots := func(n int32) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) { job.Spec.MPI = &v1alpha1.MPISpec{SlotsPerWorker: ptr.To(n)} }
	}
	seen := map[string]string{}
	for name, options := range map[string][]builder.JobOption{"nothing": nil, "one slot": {slots(1)}, "two slots": {slots(2)}} {
		job := builder.Job("j", append(options, builder.Framework(v1alpha1.MPI), builder.Leader(v1alpha1.Launcher), builder.Workers(2))...)
		shape := state.Shape(&job.Spec)
		if other, same := seen[shape]; same {
			t.Errorf("a job that says %s has the shape of one that says %s", name, other)
		}
		seen[shape] = name
	}
}

// An operator compares with what another version has written into the status: a shape that changed with the version would
// suspend running jobs.
func TestTheShapeOfAJobDoesNotChangeWithTheVersionOfTheOperator(t *testing.T) {
	job := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.Elastic(1, 4), builder.Gang(v1alpha1.GangNative))
	if got, want := state.Shape(&job.Spec), "1h3q7np67iyhb"; got != want {
		t.Errorf("the shape is %s, want %s", got, want)
	}
}
