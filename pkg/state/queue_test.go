package state_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

func TestTheQueueInForceIsKueuesElseTheGangs(t *testing.T) {
	volcano := func(job *v1alpha1.TrainingJob) { job.Spec.Scheduling = &v1alpha1.Scheduling{Queue: "research"} }
	kueue := func(job *v1alpha1.TrainingJob) { job.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"} }
	for want, options := range map[string][]builder.JobOption{"": nil, "research": {volcano}, "team-a": {volcano, kueue}} {
		if got := state.QueueOf(builder.Job("j", options...)); got != want {
			t.Errorf("queue %q, want %q", got, want)
		}
	}
}
