package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// worker-0 loses its connection to worker-1, whose node is silent from then on. The node controller marks the node later.
func TestARestartDoesNotWaitForASilentNode(t *testing.T) {
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2))
	job := underWay(t, takenOn(t, pytorch, builder.Workers(3), recreates), running...)
	past := builder.Life(0, 0)
	broken := builder.Failed("worker", 0, past, builder.Exit(1), builder.At(20*second))
	make := func(now time.Duration, options ...builder.SnapshotOption) plan.Plan {
		s := builder.Snapshot(job, append(seen(builder.Now(now)), options...)...)
		p := plan.Make(s)
		job = after(t, s)
		return p
	}
	make(23*second, broken, builder.Running("worker", 1), builder.Running("worker", 2))
	if got := job.Status.Incidents; len(got) != 1 || !got[0].Charged || job.Status.ChargedRestarts != 1 {
		t.Fatalf("the incidents are %+v, %d are charged", got, job.Status.ChargedRestarts)
	}
	deleted := builder.Deleted("worker", 1, past, builder.DeletedAt(24*second))
	p := make(50*second, broken, deleted, builder.NodeSilent(lostNode, 25*second))
	if diff := cmp.Diff([]string{"delete j-worker-0: its life is past", "fence j-worker-1, uid-j-worker-1"}, lines(p.Steps)); diff != "" {
		t.Errorf("the node is silent (-want +got):\n%s", diff)
	}
	checkSilence(t, job)
	fenced := builder.Deleted("worker", 1, past, builder.DeletedAt(24*second), builder.Fenced())
	p = make(51*second, broken, fenced, builder.NodeSilent(lostNode, 25*second))
	want := []string{"delete j-worker-0: its life is past", "create j-worker-0-a1r0", "create j-worker-1-a1r0", "create j-worker-2-a1r0"}
	if diff := cmp.Diff(want, lines(p.Steps)); diff != "" {
		t.Errorf("its pod is fenced (-want +got):\n%s", diff)
	}
	for _, step := range p.Steps {
		create, is := step.(plan.CreatePod)
		if is && !slices.Contains(create.Placement.Avoided, lostNode) {
			t.Errorf("%s avoids %v", create.Name, create.Placement.Avoided)
		}
	}
	next := seen(builder.Running("worker", 0, builder.Life(1, 0), builder.On("a")), builder.Running("worker", 1, builder.Life(1, 0), builder.On("b")),
		builder.Running("worker", 2, builder.Life(1, 0), builder.On("c")), fenced)
	for _, now := range []time.Duration{60 * second, 3 * time.Minute} { // a mere suspicion deletes nothing by force
		if p = make(now, append(next, builder.NodeSilent(lostNode, 25*second))...); len(p.Steps) > 0 {
			t.Errorf("at %v the steps are %v", now, lines(p.Steps))
		}
	}
	p = make(4*time.Minute, append(next, builder.NodeLost(lostNode, 70*second))...)
	if diff := cmp.Diff([]string{"delete by force j-worker-1: its life is past"}, lines(p.Steps)); diff != "" {
		t.Errorf("the node is lost (-want +got):\n%s", diff)
	}
	checkSilence(t, job)
}

// checkSilence: the loss is counted once, charged never, and explained.
func checkSilence(t *testing.T, job *v1alpha1.TrainingJob) {
	t.Helper()
	got := job.Status.Incidents
	if len(got) != 1 || got[0].Reason != v1alpha1.ReasonNodeSilent || got[0].Pod != "j-worker-1" || got[0].Charged || !got[0].Explained {
		t.Errorf("the incidents are %+v", got)
	}
	if job.Status.Restarts != 1 || job.Status.ChargedRestarts != 0 || len(job.Status.AvoidedNodes) != 1 || job.Status.AvoidedNodes[0].Name != lostNode {
		t.Errorf("%d restarts, %d charged, avoided are %+v", job.Status.Restarts, job.Status.ChargedRestarts, job.Status.AvoidedNodes)
	}
}

func TestASilentNodeThatComesBackIsWaitedFor(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1), builder.StartedAt(0))
	fenced := builder.Deleted("worker", 1, builder.Life(0, 0), builder.Fenced(), builder.DeletedAt(40*second))
	checkSteps(t, []stepCase{
		{"while it is silent the attempt begins", job, seen(fenced, builder.NodeSilent(lostNode, 30*second)), []string{"create j-worker-0-a1r0", "create j-worker-1-a1r0"}, 0},
		{"once it is back its pod must end first", job, seen(fenced), nil, 100 * second},
	})
}

func TestOfAnEarlierJobNothingIsForcedOnASilentNode(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0))
	others := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	for _, c := range []struct {
		node builder.SnapshotOption
		want bool
	}{{builder.NodeSilent("n", 10*second), false}, {builder.NodeLost("n", 10*second), true}} {
		s := builder.Snapshot(job, append(others, builder.FormerJobPod(builder.On("n"), builder.DeletedAt(20*second)), c.node)...)
		for _, step := range plan.Make(s).Steps {
			if d, is := step.(plan.DeletePod); is && d.Force != c.want {
				t.Errorf("%s, want force %t", d, c.want)
			}
		}
	}
}
