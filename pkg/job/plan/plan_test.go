package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const second = time.Second

var (
	pytorch = builder.Framework(v1alpha1.PyTorch)
	mpi     = builder.Framework(v1alpha1.MPI)
)

// seen shortens the cases.
func seen(options ...builder.SnapshotOption) []builder.SnapshotOption { return options }

// lines returns the steps as text: "create j-worker-0", "delete j-worker-0: its life is past".
func lines(steps []plan.Step) []string {
	var text []string
	for _, step := range steps {
		switch step := step.(type) {
		case plan.CreateService:
			text = append(text, "create service "+step.Service.Name)
		case plan.CreateSSHKey:
			text = append(text, "create secret "+step.Name)
		case plan.CreatePod:
			text = append(text, "create "+step.Name)
		case plan.AskPod, plan.SetGate, plan.EndPod:
			text = append(text, step.String())
		case plan.RestartPod:
			text = append(text, "restart "+step.Name+" in place")
		case plan.FencePod:
			text = append(text, fmt.Sprintf("fence %s, %s", step.Name, step.UID))
		case plan.DeletePod:
			how := "delete"
			if step.Force {
				how = "delete by force"
			}
			text = append(text, fmt.Sprintf("%s %s: %s", how, step.Name, step.Why))
		case plan.DeleteJob:
			text = append(text, fmt.Sprintf("delete job %s", step.UID))
		}
	}
	return text
}

// after returns the job as stored after the plan's status was written: times in whole seconds, as in JSON.
func after(t testing.TB, s *state.Snapshot) *v1alpha1.TrainingJob {
	t.Helper()
	job := s.Job.DeepCopy()
	job.Status = plan.Make(s).Status
	stored, err := throughJSON(job)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func throughJSON(job *v1alpha1.TrainingJob) (*v1alpha1.TrainingJob, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	var stored v1alpha1.TrainingJob
	return &stored, json.Unmarshal(text, &stored)
}

// takenOn returns the job with the status of its first reconcile.
func takenOn(t testing.TB, options ...builder.JobOption) *v1alpha1.TrainingJob {
	t.Helper()
	return after(t, builder.Snapshot(builder.Job("j", options...), builder.Now(0)))
}

// underWay returns the job after its pods, from the snapshot options, were observed.
func underWay(t testing.TB, job *v1alpha1.TrainingJob, pods ...builder.SnapshotOption) *v1alpha1.TrainingJob {
	t.Helper()
	return after(t, builder.Snapshot(job, append(pods, builder.Now(10*second))...))
}

// truths returns the conditions that are True.
func truths(status *v1alpha1.TrainingJobStatus) []string {
	var kinds []string
	for _, c := range status.Conditions {
		if meta.IsStatusConditionTrue(status.Conditions, c.Type) {
			kinds = append(kinds, c.Type)
		}
	}
	return kinds
}

// wantNothing fails the test unless the plan does nothing.
func wantNothing(t *testing.T, s *state.Snapshot) {
	t.Helper()
	p := plan.Make(s)
	if diff := cmp.Diff(plan.Plan{Status: s.Job.Status, Reads: p.Reads}, p); diff != "" {
		t.Errorf("there is a plan (-nothing +got):\n%s", diff)
	}
}

func TestNothingIsPlannedForAJobThatIsNotOurs(t *testing.T) {
	managed := builder.Job("j", builder.Workers(1))
	managed.Spec.ManagedBy = "kueue.x-k8s.io/multikueue"
	wantNothing(t, builder.Snapshot(managed))
	deleted := builder.Job("j", builder.Workers(1))
	deleted.DeletionTimestamp = builder.TimePtr(0)
	wantNothing(t, builder.Snapshot(deleted, builder.Failed("worker", 0)))
}

func TestAJobThatNamesThisOperatorIsOurs(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	job.Spec.ManagedBy = "trainingjob.dev/operator"
	if p := plan.Make(builder.Snapshot(job)); p.Status.Phase != v1alpha1.PhaseCreated {
		t.Errorf("the job is left alone: %+v", p)
	}
}

// With a pod of a life that the job never had, the operator cannot distinguish the job's pods. The job must show why it waits.
func TestAJobThatStandsStillForAForeignPodSaysSo(t *testing.T) {
	foreign := func(o *state.Observed) { o.Foreign = "j-worker-0-a9r0" }
	running := []builder.SnapshotOption{builder.Running("worker", 0), builder.Failed("worker", 1)}
	forged := builder.Running("worker", 0, builder.Life(9, 0))
	job := takenOn(t, builder.Workers(2))
	got := plan.Make(builder.Snapshot(job, append(running, forged, foreign)...))
	stalled := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != "True" || stalled.Reason != v1alpha1.ReasonNameConflict || !strings.Contains(stalled.Message, "kubectl delete pod j-worker-0-a9r0") {
		t.Fatalf("Stalled is %v", stalled)
	}
	if got.Status.Reason != v1alpha1.ReasonNameConflict || got.Status.Message != stalled.Message || len(got.Steps) > 0 || got.Status.Restarts > 0 {
		t.Errorf("planned %s: %s", got, got.Status.Message)
	}
	job.Status = got.Status
	if again := plan.Make(builder.Snapshot(job, running...)); meta.IsStatusConditionTrue(again.Status.Conditions, v1alpha1.ConditionStalled) || len(again.Restarts) != 1 {
		t.Errorf("once the pod is deleted: %s", again)
	}
}

func TestNothingIsPlannedFromAStaleJob(t *testing.T) {
	job := takenOn(t, builder.Workers(2))
	wantNothing(t, builder.Snapshot(job, builder.Running("worker", 0, builder.Life(1, 0)), builder.Failed("worker", 1)))
	wantNothing(t, builder.Snapshot(job, builder.Running("worker", 0, builder.Life(0, 1))))
}

// A pod that is gone as far as the cache shows may yet be there: nothing is planned before the API server has been asked.
func TestNothingIsPlannedBeforeAMissingPodIsConfirmed(t *testing.T) {
	job := takenOn(t, builder.Workers(2))
	s := builder.Snapshot(job, builder.Running("worker", 0), builder.Gone("worker", 1))
	s.Absent = nil
	wantNothing(t, s)
	if confirm := plan.Make(s).Reads.Confirm; len(confirm) != 1 || confirm[0].Slot.String() != "worker-1" {
		t.Errorf("to confirm: %v, want worker-1", confirm)
	}
	s.Absent = map[string]bool{"j-worker-1": true}
	if p := plan.Make(s); len(p.Restarts) != 1 || len(p.Reads.Confirm) > 0 {
		t.Errorf("after that: %s", p)
	}
}

func TestMakeIsPure(t *testing.T) {
	s := builder.Snapshot(underWay(t, takenOn(t, builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1)),
		builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)))
	job := s.Job.DeepCopy()
	if diff := cmp.Diff(plan.Make(s), plan.Make(s)); diff != "" {
		t.Errorf("the same snapshot gives another plan:\n%s", diff)
	}
	if diff := cmp.Diff(job, s.Job); diff != "" {
		t.Errorf("the snapshot's job has changed:\n%s", diff)
	}
}

func TestAtRestNothingIsWrittenOrDone(t *testing.T) {
	running := seen(builder.Running("worker", 0), builder.Running("ps", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.PS(1)), running...)
	p := plan.Make(builder.Snapshot(job, append(running, builder.Now(time.Hour))...))
	if diff := cmp.Diff(plan.Plan{Status: job.Status}, p); diff != "" {
		t.Errorf("a job at rest is worked on (-nothing +got):\n%s", diff)
	}
}

func TestProgressIsWrittenAtMostEveryThreeSeconds(t *testing.T) {
	job := underWay(t, takenOn(t, builder.Workers(3)), builder.Pending("worker", 0))
	progress := seen(builder.Running("worker", 0), builder.Pending("worker", 1))
	cases := []struct {
		name string
		now  time.Duration
		pods []builder.SnapshotOption
		// status is whether it is written at once, wake when to reconcile again
		status bool
		wake   time.Duration
	}{
		{"progress within that time waits", 10*second + 400*time.Millisecond, progress, false, 13 * second},
		{"progress after it is written", 13 * second, progress, true, 0},
		{"that all replicas run is written at once", 10*second + 400*time.Millisecond,
			seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2)), true, 0},
		{"an incident is written at once", 10*second + 400*time.Millisecond, seen(builder.Failed("worker", 0, builder.Exit(1))), true, 0},
		{"a verdict is written at once", 10*second + 400*time.Millisecond, seen(builder.Succeeded("worker", 0)), true, 0},
		{"a refusal is written at once", 10*second + 400*time.Millisecond,
			seen(builder.Refused(v1alpha1.ReasonForbidden, "no", 20*second)), true, 20 * second},
		{"nothing new is nothing to wait for", 10*second + 400*time.Millisecond, seen(builder.Pending("worker", 0)), false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Make(builder.Snapshot(job, append(c.pods, builder.Recorded(10*second), builder.Now(c.now))...))
			if written := !cmp.Equal(job.Status, p.Status); written != c.status {
				t.Errorf("status written: %t, want %t", written, c.status)
			}
			if !c.status && len(p.Events) > 0 {
				t.Errorf("events %v are emitted before the status is written", p.Events)
			}
			if got := wakeOf(p); got != c.wake {
				t.Errorf("wakes at %v, want %v", got, c.wake)
			}
		})
	}
}

func wakeOf(p plan.Plan) time.Duration {
	if p.Wake.IsZero() {
		return 0
	}
	return p.Wake.Sub(builder.Epoch)
}

// A delayed write of progress delays no step.
func TestStepsDoNotWaitUntilProgressIsWritten(t *testing.T) {
	job := underWay(t, takenOn(t, builder.Workers(3)), builder.Pending("worker", 0))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Pending("worker", 1), builder.Recorded(10*second), builder.Now(10*second+1)))
	if diff := cmp.Diff([]string{"create j-worker-2"}, lines(p.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestAPlanIsToldInOneLine(t *testing.T) {
	for _, c := range []struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want string
	}{
		{builder.Job("j", builder.Workers(2)), seen(builder.NoService()),
			"Created ReplicasStarting, attempt 0, 0 restarts; 3 steps: create service j, create j-worker-0, create j-worker-1"},
		{takenOn(t, builder.Workers(20)), nil,
			"Created ReplicasStarting, attempt 0, 0 restarts; 20 steps: create j-worker-0, create j-worker-1, create j-worker-2, create j-worker-3, " +
				"create j-worker-4, create j-worker-5, create j-worker-6, create j-worker-7, 12 more"},
		{takenOn(t, builder.Workers(1)), seen(builder.Running("worker", 0)), "Running AllReplicasRunning, attempt 0, 0 restarts; 1 Events"},
		{takenOn(t, builder.Workers(1)), seen(builder.Running("worker", 0, builder.On("n")), builder.NodeLost("n", 50*second)),
			"Running AllReplicasRunning, attempt 0, 0 restarts; 1 Events; again at 12:01:05"},
	} {
		if got := plan.Make(builder.Snapshot(c.job, c.seen...)).String(); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}
