package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

// The story of an elastic job that loses room: a worker is parked, the job goes on, and later it is tried again.
func TestAnElasticJobShrinksAndGrows(t *testing.T) {
	two := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	job := underWay(t, takenOn(t, pytorch, builder.Workers(3), builder.Elastic(2, 4)), two...)
	tell := func(what string, now time.Duration, steps []string, events []plan.Event, parked string, more ...builder.SnapshotOption) {
		t.Helper()
		s := builder.Snapshot(job, append(append(more, two...), builder.Now(now))...)
		p := plan.Make(s)
		if diff := cmp.Diff(steps, lines(p.Steps)); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(events, p.Events); diff != "" {
			t.Errorf("%s: Events (-want +got):\n%s", what, diff)
		}
		worker := p.Status.Memory.Roles[v1alpha1.Worker]
		if worker.Parked != parked || (worker.ParkedTime == nil) != (parked == "") || p.Status.Phase != v1alpha1.PhaseRunning {
			t.Errorf("%s: parked %q since %v, want %q; the job is %s", what, worker.Parked, worker.ParkedTime, parked, p.Status.Phase)
		}
		job = after(t, s)
	}
	waits := builder.Pending("worker", 2, builder.UnschedulableSince(10*second, "no room"))
	past := builder.Pending("worker", 2, builder.Life(0, 0), builder.Unschedulable("no room"))
	shrunk := []plan.Event{{Type: warning, Reason: "WorkersParked", Action: "Unschedulable", Message: "No room for worker-2: the job continues without it."}}
	grown := []plan.Event{{Type: normal, Reason: "WorkersUnparked", Action: "WorkersUnparked", Message: "Trying worker-2 again."}}
	unschedulable := []plan.Event{{Type: warning, Reason: "Unschedulable", Action: "Scheduled", Message: "worker-2: no room"}}
	tell("it fits nowhere", 20*second, nil, unschedulable, "", waits)
	tell("it fits nowhere for long: that is written first", 310*second, nil, shrunk, "2", waits)
	tell("its pod goes", 311*second, []string{"delete j-worker-2: its life is past"}, nil, "2", past)
	tell("nothing is missing", 312*second, nil, nil, "2")
	tell("it is time to try again", 910*second, nil, grown, "")
	tell("it comes in its next life", 911*second, []string{"create j-worker-2-a0r1"}, nil, "")
	if got := job.Status; got.Restarts != 0 || len(got.Incidents) > 0 || got.Memory.Roles[v1alpha1.Worker].Replacements != "2:1" {
		t.Errorf("%d restarts, incidents %v, replacements %q: to be parked is no incident", got.Restarts, got.Incidents, got.Memory.Roles[v1alpha1.Worker].Replacements)
	}
}

func TestParkedWorkers(t *testing.T) {
	parked := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Parked: "2-3", ParkedTime: builder.TimePtr(0), Replacements: "2-3:1"})
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(4), builder.Elastic(1, 4), builder.StartedAt(0), parked}, options...)...)
	}
	two := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	cases := []struct {
		name    string
		job     *v1alpha1.TrainingJob
		pods    []builder.SnapshotOption
		want    string
		attempt int32
	}{
		{"they stay parked", job(), two, "2-3", 0},
		{"a whole-job restart leaves them parked", job(), seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1)), "2-3", 1},
		{"one that scaling takes away is parked no more", job(builder.Workers(3)), two, "2", 0},
		{"scaling in to none of them parks nobody", job(builder.Workers(2)), two, "", 0},
		{"a suspension leaves them as they are", job(builder.Suspended()), two, "2-3", 0},
		{"a job that resumes tries all", job(builder.Condition(v1alpha1.ConditionSuspended, true, "", 0)), nil, "", 0},
		{"they are not tried again in the pass that restarts the job", job(builder.BackOff(0, 0)),
			seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1), builder.Now(time.Hour)), "2-3", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := plan.Make(builder.Snapshot(c.job, c.pods...)).Status
			worker := got.Memory.Roles[v1alpha1.Worker]
			if worker.Parked != c.want || (worker.ParkedTime == nil) != (c.want == "") || got.Attempt != c.attempt {
				t.Errorf("parked %q since %v, want %q; attempt %d, want %d", worker.Parked, worker.ParkedTime, c.want, got.Attempt, c.attempt)
			}
		})
	}
}

// The scheduler gives nodes in the order in which it hears of pods: a job that fits in part must not lack the worker at which the others
// meet.
func TestThePodOfTheLeaderOfAnElasticJobIsCreatedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want []plan.Stage
	}{
		"elastic":     {takenOn(t, pytorch, builder.Workers(3), builder.Elastic(1, 4)), nil, []plan.Stage{plan.Before, plan.Together, plan.Together}},
		"not elastic": {takenOn(t, pytorch, builder.Workers(3)), nil, []plan.Stage{plan.Together, plan.Together, plan.Together}},
		"a gang, of which the minimum is created first": {gangJob(t, pytorch, builder.Workers(3), builder.Elastic(1, 4)), []builder.SnapshotOption{ganged()},
			[]plan.Stage{plan.Together}},
	} {
		var got []plan.Stage
		for _, step := range plan.Make(builder.Snapshot(c.job, c.seen...)).Steps {
			if _, isPod := step.(plan.CreatePod); isPod {
				got = append(got, plan.StageOf(step))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: stages (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnElasticJobSaysWhetherAllRun(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(3), builder.Elastic(2, 4))
	two := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	for want, pods := range map[string][]builder.SnapshotOption{
		"At least minReplicas workers run.": two, "All replicas run.": append(two, builder.Running("worker", 2)),
	} {
		if got := plan.Make(builder.Snapshot(job, pods...)).Status; got.Message != want || got.Phase != v1alpha1.PhaseRunning {
			t.Errorf("the job is %s: %q, want %q", got.Phase, got.Message, want)
		}
	}
}
