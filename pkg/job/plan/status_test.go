package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const uidSelector = "trainingjob.dev/job-uid=uid-j,trainingjob.dev/role="

func TestTheStatusOfANewJob(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.PS(1))
	got := plan.Make(builder.Snapshot(job, builder.NoService())).Status
	want := v1alpha1.TrainingJobStatus{
		ObservedGeneration: 1, Memory: v1alpha1.Memory{Shape: state.Shape(&job.Spec), RestartMethod: v1alpha1.RestartRecreate, CountedTime: builder.TimePtr(time.Minute)}, Phase: v1alpha1.PhaseCreated, Ready: "0/3", Replicas: 3, StartTime: builder.TimePtr(time.Minute),
		Reason: v1alpha1.ReasonReplicasStarting, Message: "Waiting for all replicas to run.",
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.Worker: {RestartScope: v1alpha1.ScopeReplica, Selector: uidSelector + "worker"},
			v1alpha1.PS:     {RestartScope: v1alpha1.ScopeJob, Selector: uidSelector + "ps"},
		},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionCreated, Status: "True", ObservedGeneration: 1, LastTransitionTime: builder.Time(time.Minute),
				Reason: v1alpha1.ReasonJobCreated, Message: "The operator has accepted the job."},
			{Type: v1alpha1.ConditionRunning, Status: "False", ObservedGeneration: 1, LastTransitionTime: builder.Time(time.Minute),
				Reason: v1alpha1.ReasonReplicasStarting, Message: "Waiting for all replicas to run."},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfAJobThatRuns(t *testing.T) {
	job := takenOn(t, builder.Workers(2), builder.PS(1))
	got := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("ps", 0))).Status
	want := map[v1alpha1.Role]v1alpha1.ReplicaStatus{
		v1alpha1.Worker: {Active: 2, Ready: 2, RestartScope: v1alpha1.ScopeReplica, Selector: uidSelector + "worker"},
		v1alpha1.PS:     {Active: 1, Ready: 1, RestartScope: v1alpha1.ScopeJob, Selector: uidSelector + "ps"},
	}
	if diff := cmp.Diff(want, got.ReplicaStatuses); diff != "" || got.Phase != v1alpha1.PhaseRunning || got.Ready != "3/3" || got.ReadyReplicas != 3 {
		t.Errorf("phase %s, ready %s, %d, replicas (-want +got):\n%s", got.Phase, got.Ready, got.ReadyReplicas, diff)
	}
	if diff := cmp.Diff(map[v1alpha1.Role]v1alpha1.RoleMemory{v1alpha1.Worker: {Started: "0-1"}, v1alpha1.PS: {Started: "0"}}, got.Memory.Roles); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(builder.TimePtr(time.Minute), got.RunningTime); diff != "" {
		t.Errorf("running since (-want +got):\n%s", diff)
	}
}

// at is the entry of nextStarts for slots whose lives may begin d after Epoch.
func at(indexes string, d time.Duration) string {
	return fmt.Sprintf("%s:%d", indexes, builder.Epoch.Add(d).Unix())
}

// alone sets the workers' own back-off in the status.
func alone(restartsInRow, nextStarts string) builder.JobOption {
	return builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{RestartsInRow: restartsInRow, NextStarts: nextStarts, Replacements: restartsInRow})
}

// ownBackOff is the back-off of the workers and of the whole job in a status.
type ownBackOff struct {
	InARow, Next string
	Whole        *metav1.Time
}

func TestTheBackOffOfAReplicaIsItsOwn(t *testing.T) {
	pending := builder.TimePtr(90 * second)
	whole := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = pending })
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	cases := []struct {
		name    string
		options []builder.JobOption
		seen    []builder.SnapshotOption
		want    ownBackOff
	}{
		{"the loss of one moves neither another's next start nor the whole job's", []builder.JobOption{whole, alone("1:4", at("1", 100*second))},
			seen(builder.Running("worker", 0), builder.Deleted("worker", 2)), ownBackOff{"1:4,2:1", at("1", 100*second) + "," + at("2", 60*second), pending}},
		{"the third in a row waits twice as long as the second", []builder.JobOption{alone("1:2", at("1", 50*second))},
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 2)), builder.Running("worker", 2)), ownBackOff{"1:3", at("1", 70*second), nil}},
		{"after a calm time nothing is remembered", []builder.JobOption{alone("1:2", at("1", 50*second))},
			seen(builder.Running("worker", 0), builder.Now(650*second)), ownBackOff{}},
		{"when a life may begin is remembered as long as a hang counts from it",
			[]builder.JobOption{builder.Page(9500, 3600, v1alpha1.StallNotify), alone("1:2", at("1", 50*second))},
			seen(builder.Running("worker", 0), builder.Now(650*second)), ownBackOff{"", at("1", 50*second), nil}},
		{"a whole-job restart forgets all of it", []builder.JobOption{pytorch, alone("0-1:2", at("0-1", 50*second))},
			seen(builder.Running("worker", 0, builder.Life(0, 2)), builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 2))),
			ownBackOff{"", "", builder.TimePtr(60 * second)}},
		{"so does a resumption", []builder.JobOption{builder.StartedAt(0), suspended, alone("0-1:2", at("0-1", 100*second))}, nil, ownBackOff{}},
		{"and the job's own, as it may have been mended", []builder.JobOption{builder.StartedAt(0), suspended, whole}, nil, ownBackOff{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status := plan.Make(builder.Snapshot(builder.Job("j", append(c.options, builder.Workers(3))...), c.seen...)).Status
			worker := status.Memory.Roles[v1alpha1.Worker]
			if diff := cmp.Diff(c.want, ownBackOff{worker.RestartsInRow, worker.NextStarts, status.NextStartTime}); diff != "" {
				t.Errorf("back-off (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheConditionTellsWhenAReplicaIsCreatedAgain(t *testing.T) {
	const again = "worker-1 is created again at 12:01:30 UTC (restart 3 in a row)."
	for message, runs := range map[string]builder.JobOption{
		again:                         func(*v1alpha1.TrainingJob) {},
		"The job continues; " + again: builder.RunsSince(0),
	} {
		job := builder.Job("j", builder.Workers(2), runs, alone("1:3", at("1", 90*second)))
		p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0)))
		got := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRunning)
		if got.Reason != v1alpha1.ReasonBackOff || got.Message != message {
			t.Errorf("%s: %s, want %s", got.Reason, got.Message, message)
		}
	}
}

// counted is the part of a status that an incident changes.
type counted struct {
	Phase                                        v1alpha1.Phase
	Attempt, Restarts, Charged, InARow           int32
	RoleRestarts                                 int32
	Started, Succeeded, Replaced, ScopeOfFailure string
	// AloneInARow and NextStarts are the workers' own, by index: restarts in a row, and when their lives may begin.
	AloneInARow, NextStarts string
	Next                    time.Duration
}

func countedIn(status *v1alpha1.TrainingJobStatus) counted {
	role, worker := status.ReplicaStatuses[v1alpha1.Worker], status.Memory.Roles[v1alpha1.Worker]
	c := counted{status.Phase, status.Attempt, status.Restarts, status.ChargedRestarts, status.Memory.RestartsInRow, role.Restarts,
		worker.Started, worker.Succeeded, worker.Replacements, string(role.RestartScope), worker.RestartsInRow, worker.NextStarts, 0}
	if status.NextStartTime != nil {
		c.Next = status.NextStartTime.Sub(builder.Epoch)
	}
	return c
}

func TestAnIncidentIsWrittenInOneStatus(t *testing.T) {
	cases := []struct {
		name    string
		options []builder.JobOption
		seen    []builder.SnapshotOption
		want    counted
	}{
		{"a whole-job restart begins another attempt and forgets what ran",
			[]builder.JobOption{pytorch}, seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Running("worker", 2)),
			counted{v1alpha1.PhaseRestarting, 1, 1, 1, 1, 1, "", "", "", "Job", "", "", 60 * second}},
		{"in a collective it forgets what succeeded too", []builder.JobOption{pytorch},
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Succeeded("worker", 2)),
			counted{v1alpha1.PhaseRestarting, 1, 1, 1, 1, 1, "", "", "", "Job", "", "", 60 * second}},
		{"so do those of a collective of the user's own", []builder.JobOption{builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeJob))},
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Succeeded("worker", 2)),
			counted{v1alpha1.PhaseRestarting, 1, 1, 1, 1, 1, "", "", "", "Job", "", "", 60 * second}},
		{"otherwise what has succeeded never runs again", []builder.JobOption{builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeJob)),
			builder.Leader(v1alpha1.Master)},
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Succeeded("worker", 2)),
			counted{v1alpha1.PhaseRestarting, 1, 1, 1, 1, 1, "", "2", "", "Job", "", "", 60 * second}},
		{"replacing a replica gives it another life and leaves the others", nil,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Running("worker", 2)),
			counted{v1alpha1.PhaseRunning, 0, 1, 1, 0, 1, "0,2", "", "1:1", "Replica", "1:1", at("1", 60*second), 0}},
		{"a lost replica is replaced at once and not charged", nil,
			seen(builder.Running("worker", 0), builder.Deleted("worker", 1), builder.Running("worker", 2)),
			counted{v1alpha1.PhaseRunning, 0, 1, 0, 0, 1, "0,2", "", "1:1", "Replica", "1:1", at("1", 60*second), 0}},
		{"replacing a role counts once", []builder.JobOption{builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole))},
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1))),
			counted{v1alpha1.PhaseRunning, 0, 1, 1, 0, 1, "", "", "0-2:1", "Role", "0-2:1", at("0-2", 60*second), 0}},
		{"two replicas at once count once, and each gets another life", nil,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1))),
			counted{v1alpha1.PhaseRunning, 0, 1, 1, 0, 1, "0", "", "1-2:1", "Replica", "1-2:1", at("1-2", 60*second), 0}},
	}
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := underWay(t, takenOn(t, append(c.options, builder.Workers(3))...), running...)
			got := plan.Make(builder.Snapshot(job, c.seen...)).Status
			if diff := cmp.Diff(c.want, countedIn(&got)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditionsTellTheStoryOfTheJob(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(2))
	expect := func(what string, want []string, pods ...builder.SnapshotOption) {
		t.Helper()
		job = after(t, builder.Snapshot(job, pods...))
		if diff := cmp.Diff(want, truths(&job.Status)); diff != "" {
			t.Errorf("%s: True are (-want +got):\n%s", what, diff)
		}
	}
	expect("pods wait for a node", []string{"Created"}, builder.Pending("worker", 0), builder.Pending("worker", 1))
	expect("all have one", []string{"Created", "Scheduled"}, builder.Running("worker", 0), builder.Pending("worker", 1, builder.On("n")))
	expect("all run", []string{"Created", "Scheduled", "Running"}, builder.Running("worker", 0), builder.Running("worker", 1))
	expect("one fails", []string{"Created", "Restarting"}, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)))
	expect("the new attempt starts", []string{"Created", "Restarting"}, builder.Running("worker", 0))
	expect("the new attempt runs", []string{"Created", "Scheduled", "Running"}, builder.Running("worker", 0), builder.Running("worker", 1))
	job.Spec.Suspend = ptr.To(true)
	expect("the user suspends", []string{"Created", "Suspended"}, builder.Running("worker", 0), builder.Running("worker", 1))
	job.Spec.Suspend = ptr.To(false)
	expect("the user resumes, pods are ending", []string{"Created", "Suspended"}, builder.Deleted("worker", 0))
	expect("they are gone", []string{"Created"})
	expect("worker 0 exits with code 0", []string{"Created", "Succeeded", "Finished"}, builder.Succeeded("worker", 0), builder.Running("worker", 1))
}

// READY counts pods that train. Pods that are still ending after a suspension or at the end do not count.
func TestReadyIsADashForAJobThatShouldHaveNoPods(t *testing.T) {
	job := takenOn(t, builder.Workers(2))
	both := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	if got := plan.Make(builder.Snapshot(job, both...)).Status.Ready; got != "2/2" {
		t.Errorf("running: %q", got)
	}
	ended := plan.Make(builder.Snapshot(job, builder.Succeeded("worker", 0), builder.Running("worker", 1))).Status
	if ended.Ready != "-" || ended.ReadyReplicas != 1 {
		t.Errorf("succeeded: %q with %d ready", ended.Ready, ended.ReadyReplicas)
	}
	job.Spec.Suspend = ptr.To(true)
	if got := plan.Make(builder.Snapshot(job, both...)).Status.Ready; got != "-" {
		t.Errorf("suspended: %q", got)
	}
}

func TestAFailedJobIsFinishedAndStalled(t *testing.T) {
	job := takenOn(t, builder.Workers(2), builder.MaxRestarts(0))
	got := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(3)))).Status
	if diff := cmp.Diff([]string{"Created", "Failed", "Finished", "Stalled"}, truths(&got)); diff != "" {
		t.Errorf("True are (-want +got):\n%s", diff)
	}
	if got.LastFailure == nil || got.LastFailure.Pod != "j-worker-1" || got.Restarts != 0 || got.CompletionTime.Sub(got.StartTime.Time) != time.Minute {
		t.Errorf("first failure %v, %d restarts, %v to %v", got.LastFailure, got.Restarts, got.StartTime, got.CompletionTime)
	}
}

func TestARefusalStallsTheJobUntilItsPodsAreThere(t *testing.T) {
	job := takenOn(t, builder.Workers(1))
	refused := builder.Refused(v1alpha1.ReasonQuotaExceeded, "exceeded quota: team-a", 90*second)
	stalled := after(t, builder.Snapshot(job, refused))
	if stalled.Status.Reason != v1alpha1.ReasonQuotaExceeded || stalled.Status.Message != "exceeded quota: team-a" {
		t.Errorf("got %s: %s", stalled.Status.Reason, stalled.Status.Message)
	}
	proceeds := after(t, builder.Snapshot(stalled, builder.Pending("worker", 0)))
	if diff := cmp.Diff([]string{"Created"}, truths(&proceeds.Status)); diff != "" {
		t.Errorf("True are (-want +got):\n%s", diff)
	}
}

func TestTimeInSuspensionIsAddedUp(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionSuspended, true, "", 10*second),
		builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.SuspendedSeconds = 7 }))
	if got := plan.Make(builder.Snapshot(job)).Status.SuspendedSeconds; got != 57 {
		t.Errorf("%d seconds in suspension, want 57", got)
	}
}

func TestAJobIsQueuedWhileAQueueKeepsItSuspended(t *testing.T) {
	queued := func(job *v1alpha1.TrainingJob) { job.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"} }
	job := takenOn(t, builder.Workers(1), builder.Suspended(), queued)
	if job.Status.Phase != v1alpha1.PhaseQueued || job.Status.Reason != v1alpha1.ReasonQueued {
		t.Errorf("phase %s (%s), want Queued", job.Status.Phase, job.Status.Reason)
	}
	job.Annotations = map[string]string{v1alpha1.AnnotationQueueMessage: "8 more GPUs needed"}
	if got, want := plan.Make(builder.Snapshot(job)).Status.Message, "The job waits in queue team-a to be admitted: 8 more GPUs needed"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	job.Labels = nil
	if status := plan.Make(builder.Snapshot(job)).Status; status.Phase != v1alpha1.PhaseSuspended || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionQueued) {
		t.Errorf("out of the queue: phase %s, conditions %v, want Suspended", status.Phase, status.Conditions)
	}
}

func TestAJobThatBeginsSuspendedHasNotStarted(t *testing.T) {
	job := takenOn(t, builder.Workers(1), builder.Suspended())
	if job.Status.StartTime != nil || job.Status.Phase != v1alpha1.PhaseSuspended {
		t.Errorf("phase %s, started %v", job.Status.Phase, job.Status.StartTime)
	}
	job.Spec.Suspend = ptr.To(false)
	if got := plan.Make(builder.Snapshot(job, builder.Now(time.Hour))).Status; got.SuspendedSeconds != 0 || !got.StartTime.Equal(builder.TimePtr(time.Hour)) {
		t.Errorf("started %v, %d seconds in suspension", got.StartTime, got.SuspendedSeconds)
	}
}

// A job of 10,000 replicas with 1,000 scattered restarts of single replicas fits into 64 KiB.
func TestTheStatusStaysSmall(t *testing.T) {
	var replaced, started []string
	for i := range 1000 {
		replaced = append(replaced, fmt.Sprintf("%d:1", i*9))
		started = append(started, fmt.Sprintf("%d-%d", i*9+1, i*9+8))
	}
	message := strings.Repeat("é", 2000)
	job := builder.Job("j", builder.Workers(10_000), builder.StartedAt(0), builder.MaxRestarts(10_000), builder.Remember(v1alpha1.Worker,
		v1alpha1.RoleMemory{Replacements: strings.Join(replaced, ","), Started: strings.Join(started, ","), Succeeded: "1"}))
	got := plan.Make(builder.Snapshot(job, builder.Failed("worker", 9990, builder.ExitSaying(1, "Error", message)),
		builder.Pending("worker", 2, builder.Unschedulable(message)))).Status
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 64<<10 {
		t.Errorf("the status has %d bytes", len(text))
	}
}

func TestMessagesFitTheirFields(t *testing.T) {
	long := strings.Repeat("世", 5000)
	job := takenOn(t, builder.Workers(2, builder.Policy(v1alpha1.RestartNever)))
	for name, pods := range map[string][]builder.SnapshotOption{
		"unschedulable":   seen(builder.Pending("worker", 0, builder.Unschedulable(long))),
		"image":           seen(builder.Pending("worker", 0, builder.Waiting("ImagePullBackOff", long))),
		"refused":         seen(builder.Refused(v1alpha1.ReasonForbidden, long, 90*second)),
		"fatal exit":      seen(builder.Failed("worker", 0, builder.ExitSaying(1, "Error", long))),
		"lost":            seen(builder.Failed("worker", 0, builder.Rejected("Evicted", long))),
		"out of attempts": seen(builder.Failed("worker", 0, builder.Rejected("DeadlineExceeded", long))),
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.Make(builder.Snapshot(job, pods...))
			if n := len([]rune(p.Status.Message)); n > 1024 || p.Status.Message == "" {
				t.Errorf("status.message has %d characters", n)
			}
			for _, c := range p.Status.Conditions {
				if n := len([]rune(c.Message)); n > 32768 {
					t.Errorf("the message of %s has %d characters", c.Type, n)
				}
			}
			for _, e := range p.Events {
				if len(e.Message) > 1024 { // the API server refuses an Event with a longer note
					t.Errorf("Event %s has a note of %d bytes", e.Reason, len(e.Message))
				}
			}
		})
	}
}

// An evaluator that failed for good stays failed, whatever happens to its pod: a permanent exit code never restarts.
func TestAnEvaluatorThatWasGivenUpStaysSoWhenItsPodIsCollected(t *testing.T) {
	worker := builder.Running("worker", 0)
	job := underWay(t, takenOn(t, pytorch, builder.Workers(1), builder.Evaluators(1)), worker, builder.Running("evaluator", 0))
	job = after(t, builder.Snapshot(job, worker, builder.Failed("evaluator", 0, builder.Exit(127))))
	got := plan.Make(builder.Snapshot(job, worker, builder.Now(time.Hour)))
	if got.Status.Restarts != 0 || len(got.Restarts) > 0 {
		t.Errorf("it is restarted: %v", got.Restarts)
	}
}

// A worker that scaling removed after its pod had gone is not missed when scaling brings it back.
func TestAScaledInReplicaIsNotMissed(t *testing.T) {
	two := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	job := underWay(t, takenOn(t, pytorch, builder.Workers(3), builder.Elastic(1, 4)), append(two, builder.Running("worker", 2))...)
	builder.Workers(2)(job)
	job = after(t, builder.Snapshot(job, two...))
	builder.Workers(3)(job)
	got := plan.Make(builder.Snapshot(job, two...))
	if diff := cmp.Diff([]string{"create j-worker-2-a0r1"}, lines(got.Steps), cmpopts.EquateEmpty()); diff != "" || got.Status.Restarts != 0 {
		t.Errorf("%d restarts, steps (-want +got):\n%s", got.Status.Restarts, diff)
	}
}

func TestARestartDoesNotMoveTheTimeOfAConditionThatStaysAsItWas(t *testing.T) {
	job := takenOn(t, builder.Framework(v1alpha1.PyTorch), builder.Workers(2))
	job.Status = plan.Make(builder.Snapshot(job, builder.Pending("worker", 0, builder.On("")), builder.Pending("worker", 1, builder.On("")))).Status
	before := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionScheduled)
	if before == nil || before.Status != metav1.ConditionFalse {
		t.Fatalf("the pods wait for nodes, and Scheduled is %v", before)
	}
	// Both got nodes, and one has failed, since the last reconcile.
	next := plan.Make(builder.Snapshot(job, builder.Now(time.Hour), builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)))).Status
	after := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionScheduled)
	if next.Attempt != 1 || after.Status != before.Status || !after.LastTransitionTime.Equal(&before.LastTransitionTime) {
		t.Errorf("attempt %d; Scheduled was %s since %s, and is %s since %s", next.Attempt, before.Status, before.LastTransitionTime, after.Status, after.LastTransitionTime)
	}
}

func TestANameThatIsNotFreeYetStallsNoJob(t *testing.T) {
	s := builder.Snapshot(takenOn(t, builder.Workers(1)), builder.NoService(), builder.Refused("", "waiting for the old j to be deleted", 61*second))
	p := plan.Make(s)
	if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled) != nil || len(p.Events) > 0 {
		t.Errorf("conditions %v, Events %v: want no change", p.Status.Conditions, p.Events)
	}
	if len(p.Steps) > 0 || wakeOf(p) != 61*second {
		t.Errorf("steps %v, again at %v: want none, and 61 s", lines(p.Steps), wakeOf(p))
	}
}

// A request counts once: the status records it when the whole job or the named replica restarts, when it is suspended, when it was
// submitted with it, and when nothing is there to restart.
func TestARequestForARestartIsAnsweredOnce(t *testing.T) {
	requestsOf := func(words string, job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
		job.Annotations = map[string]string{"trainingjob.dev/restart": words}
		return job
	}
	requests := func(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob { return requestsOf("now", job) }
	alone := builder.Job("j", builder.Framework(v1alpha1.Custom), builder.Workers(2), builder.StartedAt(0))
	runs := []builder.SnapshotOption{builder.Now(20 * second), builder.Running("worker", 0), builder.Running("worker", 1)}
	for name, c := range map[string]struct {
		job     *v1alpha1.TrainingJob
		seen    []builder.SnapshotOption
		attempt int32
		want    string
	}{
		"submitted with it":          {requests(builder.Job("j", builder.Workers(2))), nil, 0, "now"},
		"the whole job restarts":     {requests(builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0))), runs, 1, "now"},
		"the job is suspended":       {requests(builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Suspended())), runs, 0, "now"},
		"the named replica restarts": {requestsOf("worker-1: slow", alone.DeepCopy()), runs, 0, "worker-1: slow"},
		"the named replica fails":    {requestsOf("worker-1: slow", alone.DeepCopy()), append(runs[:2:2], builder.Failed("worker", 1, builder.Exit(1))), 0, "worker-1: slow"},
		"another replica fails":      {requestsOf("worker-0: slow", alone.DeepCopy()), append(runs[:2:2], builder.Failed("worker", 1, builder.Exit(1))), 0, ""},
		"it has no pod yet":          {requestsOf("worker-1: slow", alone.DeepCopy()), runs[:2], 0, "worker-1: slow"},
		"there is none of that name": {requestsOf("worker-7: slow", alone.DeepCopy()), runs, 0, "worker-7: slow"},
		"a replica restarts, yet":    {requests(builder.Job("j", builder.Workers(2), builder.StartedAt(0))), append(runs[:2:2], builder.Failed("worker", 1, builder.Exit(1))), 0, ""},
	} {
		got := plan.Make(builder.Snapshot(c.job, c.seen...)).Status
		if got.Attempt != c.attempt || got.Memory.RestartRequest != c.want {
			t.Errorf("%s: attempt %d, answered %q, want %d, %q", name, got.Attempt, got.Memory.RestartRequest, c.attempt, c.want)
		}
	}
}
