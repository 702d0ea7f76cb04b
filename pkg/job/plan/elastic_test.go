package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A worker that fits nowhere waits as a pod, and the job runs with the others.
func TestAnElasticJobRunsWithoutAWorkerThatFitsNowhere(t *testing.T) {
	two := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	job := underWay(t, takenOn(t, pytorch, builder.Workers(3), builder.Elastic(2, 4)), append(two, builder.Pending("worker", 2))...)
	waits := builder.Pending("worker", 2, builder.UnschedulableSince(10*second, "no room"))
	s := builder.Snapshot(job, append(two, waits, builder.Now(time.Hour))...)
	p := plan.Make(s)
	unschedulable := []plan.Event{{Type: warning, Reason: "Unschedulable", Action: "Scheduled", Message: "worker-2: no room"}}
	if diff := cmp.Diff(unschedulable, p.Events); diff != "" || len(p.Steps) > 0 || p.Status.Phase != v1alpha1.PhaseRunning || p.Status.Ready != "2/3" {
		t.Errorf("the job is %s, ready %s, steps %v, Events (-want +got):\n%s", p.Status.Phase, p.Status.Ready, lines(p.Steps), diff)
	}
	if p := plan.Make(builder.Snapshot(after(t, s), append(two, builder.Running("worker", 2), builder.Now(2*time.Hour))...)); p.Status.Ready != "3/3" || p.Status.Restarts > 0 {
		t.Errorf("with room it is %s, ready %s, %d restarts", p.Status.Phase, p.Status.Ready, p.Status.Restarts)
	}
}

// Operators up to 2026-11 parked workers that fitted nowhere: they got their next life and no pod.
func TestWorkersThatAnEarlierOperatorParkedGetTheirPodsAgain(t *testing.T) {
	var memory v1alpha1.RoleMemory
	if err := json.Unmarshal([]byte(`{"started": "0-1", "parked": "2-3", "parkedTime": "2026-01-05T12:00:00Z", "replacements": "2-3:1"}`), &memory); err != nil {
		t.Fatal(err)
	}
	job := builder.Job("j", pytorch, builder.Workers(4), builder.Elastic(1, 4), builder.StartedAt(0), builder.Remember(v1alpha1.Worker, memory))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1)))
	if diff := cmp.Diff([]string{"create j-worker-2-a0r1", "create j-worker-3-a0r1"}, lines(p.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if p.Status.Phase != v1alpha1.PhaseRunning || p.Status.Restarts > 0 || len(p.Status.Incidents) > 0 {
		t.Errorf("the job is %s with %d restarts, incidents %v", p.Status.Phase, p.Status.Restarts, p.Status.Incidents)
	}
}

// The scheduler gives nodes in the order of the pods' creation. A job that fits in part must have the worker that hosts the
// rendezvous.
func TestThePodOfTheLeaderOfAnElasticJobIsCreatedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want []plan.Stage
	}{
		"elastic":     {takenOn(t, pytorch, builder.Workers(3), builder.Elastic(1, 4)), nil, []plan.Stage{plan.Prerequisites, plan.Replicas, plan.Replicas}},
		"not elastic": {takenOn(t, pytorch, builder.Workers(3)), nil, []plan.Stage{plan.Replicas, plan.Replicas, plan.Replicas}},
		"a gang: its minimum is created first": {gangJob(t, pytorch, builder.Workers(3), builder.Elastic(1, 4)), []builder.SnapshotOption{ganged()},
			[]plan.Stage{plan.Replicas}},
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
