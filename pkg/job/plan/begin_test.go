package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
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

// MultiKueue runs a job in one cluster and then in another. What it has counted in the first goes on in the second, in the next attempt.
func TestAJobFromAnotherClusterBringsItsCounts(t *testing.T) {
	charges := []v1alpha1.Charges{{Name: v1alpha1.BudgetRestarts, Times: []metav1.Time{{Time: builder.Epoch.Add(10 * second)}}}}
	former := builder.Job("j", builder.Workers(2))
	former.Status = v1alpha1.TrainingJobStatus{
		Attempt: 4, Restarts: 6, ChargedRestarts: 1, Budgets: []v1alpha1.Budget{{Name: v1alpha1.BudgetRestarts, Used: 1, Limit: 10}}, StartTime: builder.TimePtr(0), RunningSeconds: 20,
		Incidents: []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseRetryable, Time: builder.Time(0)},
			Scope: v1alpha1.ScopeJob, RestartTime: builder.Time(0)}},
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Active: 2, Ready: 2, Restarts: 6}},
		AvoidedNodes:    []v1alpha1.AvoidedNode{{Name: "of-the-other-cluster"}},
		Memory:          v1alpha1.Memory{Charges: charges, CountedTime: builder.TimePtr(30 * second)},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionCreated, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue, LastTransitionTime: builder.Time(40 * second)},
		},
	}
	carried, err := state.CarriedStatus(former, builder.Epoch.Add(100*second))
	if err != nil {
		t.Fatal(err)
	}

	job := builder.Job("j", builder.Workers(2), builder.Suspended())
	builder.Dispatched(carried)(job)
	first := plan.Make(builder.Snapshot(job, builder.Now(130*second)))
	want := map[string]int64{"attempt": 5, "restarts": 6, "charged": 1, "incidents": 1, "worker restarts": 6, "worker active": 0, "ran": 80, "away": 30, "nodes": 0, "charges": 1}
	status := first.Status
	got := map[string]int64{
		"attempt": int64(status.Attempt), "restarts": int64(status.Restarts), "charged": int64(status.ChargedRestarts), "incidents": int64(len(status.Incidents)),
		"worker restarts": int64(status.ReplicaStatuses[v1alpha1.Worker].Restarts), "worker active": int64(status.ReplicaStatuses[v1alpha1.Worker].Active),
		"ran": status.RunningSeconds, "away": status.SuspendedSeconds, "nodes": int64(len(status.AvoidedNodes)), "charges": int64(len(status.Memory.Charges)),
	}
	if diff := cmp.Diff(want, got); diff != "" || status.Phase != v1alpha1.PhaseSuspended || len(first.Restarts)+len(first.Steps) > 0 {
		t.Fatalf("%s; -want +got:\n%s", first, diff)
	}
	if !status.StartTime.Time.Equal(builder.Epoch.Add(0)) || status.Budgets[0].Used != 1 {
		t.Errorf("started at %s, budgets %v", status.StartTime, status.Budgets)
	}

	job.Status = status
	if again, err := state.CarriedStatus(job, builder.Epoch.Add(200*second)); err != nil || again == carried {
		t.Errorf("the status of the next attempt is not carried: %v", err)
	}
	job.Status.Attempt = 4
	if again, err := state.CarriedStatus(job, builder.Epoch.Add(200*second)); err != nil || again != carried {
		t.Errorf("the same status is carried again (%v): %s", err, again)
	}
}

func TestAJobThatBringsNoStatusSaysSo(t *testing.T) {
	for _, text := range []string{"4", "{", `{"attempt": -1}`, `{"attempt": 999999}`, `{"attempt": "1"}`, `{"runningSeconds": -1000000}`, `{"budgets":[{"name":"my text","used":1,"limit":1}]}`,
		`{"memory":{"restartsWithoutProgress":-1000000}}`, `{"incidents":[` + strings.Repeat(`{},`, 83_000) + `{}]}`} {
		job := builder.Job("j", builder.Workers(1))
		builder.Dispatched(text)(job)
		p := plan.Make(builder.Snapshot(job, builder.Now(0)))
		stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || stalled.Reason != v1alpha1.ReasonInvalid || !strings.Contains(stalled.Message, "remove it") || len(p.Steps) > 0 {
			t.Errorf("%q: %s, Stalled %v", text, p, stalled)
		}
	}
}
