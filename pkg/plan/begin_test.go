package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// A restored job begins after the attempts of the saved one. The attempt is recorded before any pod has it in its name.
func TestAJobBeginsAtTheAttemptThatItNames(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.FirstAttempt("8"))
	first := plan.Make(builder.Snapshot(job, builder.Now(0)))
	if first.Status.Attempt != 8 || first.Status.Restarts != 0 || first.Status.Phase != v1alpha1.PhaseCreated || len(first.Restarts)+len(first.Steps) > 0 {
		t.Fatalf("first plan: %s, status %+v", first, first.Status)
	}
	job.Status = first.Status
	next := plan.Make(builder.Snapshot(job, builder.Now(0)))
	if next.Status.Attempt != 8 || !strings.Contains(fmt.Sprint(next.Steps), "create j-worker-0-a8r0") {
		t.Fatalf("second plan: %s", next)
	}
	job.Status = next.Status
	job.Annotations[v1alpha1.AnnotationFirstAttempt] = "20"
	broken := builder.Snapshot(job, builder.Now(60*second), builder.Failed("worker", 0, builder.Life(8, 0)))
	third := plan.Make(broken)
	if third.Status.Attempt != 8 && third.Status.Attempt != 9 || third.Status.Restarts != 1 {
		t.Errorf("after a failure, with another annotation: %s", third)
	}
}

func TestAJobThatNamesNoAttemptSaysWhatToWrite(t *testing.T) {
	for _, text := range []string{"", "-1", "+1", "1.0", "one", "0x1", "1000000", "99999999999999999999", " 1"} {
		job := builder.Job("j", builder.Workers(1), builder.FirstAttempt(text))
		p := plan.Make(builder.Snapshot(job, builder.Now(0)))
		stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || stalled.Reason != v1alpha1.ReasonInvalid || !strings.Contains(stalled.Message, "write a whole number from 0 to 999999") || len(p.Steps) > 0 {
			t.Errorf("%q: %s, Stalled %v", text, p, stalled)
			continue
		}
		job.Status = p.Status
		job.Annotations[v1alpha1.AnnotationFirstAttempt] = "999999"
		if mended := plan.Make(builder.Snapshot(job, builder.Now(0))); mended.Status.Attempt != 999999 || meta.IsStatusConditionTrue(mended.Status.Conditions, v1alpha1.ConditionStalled) {
			t.Errorf("%q: once it is mended: %s", text, mended)
		}
	}
}

// A restore of pods without the job's status is no attack: the message explains it, and has one command for all pods.
func TestAJobWithoutAStatusBesideItsPodsSaysHowToGoOn(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	foreign := func(o *state.Observed) { o.Foreign = "j-worker-0-a3r0" }
	s := builder.Snapshot(job, builder.Running("worker", 0, builder.Life(3, 0)), builder.Running("worker", 1, builder.Life(2, 1)), foreign)
	s.Job.Status = v1alpha1.TrainingJobStatus{}
	p := plan.Make(s)
	stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonNameConflict || len(p.Steps) > 0 {
		t.Fatalf("planned %s, Stalled %v", p, stalled)
	}
	for _, want := range []string{
		"restored without its status",
		fmt.Sprintf("kubectl delete pods --namespace %s --selector trainingjob.dev/job-uid=%s", job.Namespace, job.UID),
		fmt.Sprintf("kubectl annotate trainingjob j --namespace %s trainingjob.dev/first-attempt=4", job.Namespace),
	} {
		if !strings.Contains(stalled.Message, want) {
			t.Errorf("the message lacks %q: %s", want, stalled.Message)
		}
	}
}
