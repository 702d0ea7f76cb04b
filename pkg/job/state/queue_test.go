package state_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
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

func TestAPartialAdmissionIsOneOfTheWorkersThatAreThere(t *testing.T) {
	for note, want := range map[string]bool{"2 of 6": true, "": false, "6 of 6": false, "3 of 6": false, "two of six": false, "2 of 6; rm": true} {
		job := builder.Job("j", builder.Workers(2), func(job *v1alpha1.TrainingJob) {
			job.Annotations = map[string]string{v1alpha1.AnnotationAdmittedWorkers: note}
		})
		if admitted, asked, ok := state.PartialAdmission(job); ok != want || ok && (admitted != 2 || asked != 6) {
			t.Errorf("%q: %d of %d, %t", note, admitted, asked, ok)
		}
	}
}
