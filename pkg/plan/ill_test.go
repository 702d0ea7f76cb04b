package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

// notes are the Events of that reason, each with its object.
func notes(p plan.Plan, reason string) []string {
	var list []string
	for _, e := range p.Events {
		if e.Reason == reason {
			list = append(list, e.Node+"|"+e.Message)
		}
	}
	return list
}

// A job leaves an unhealthy node: the restart has the node's message, and new pods avoid the node.
func TestAJobMovesFromAnIllNode(t *testing.T) {
	ill := builder.NodeIll("node-worker-1", "GpuMemWatch", "[79] - RecommendedAction: RESTART_VM", 20*second)
	job := underWay(t, takenOn(t, builder.Framework(v1alpha1.PyTorch), builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1))
	before := builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), ill, builder.Others(2))
	p := plan.Make(before)
	message := "worker-1 on node-worker-1 leaves its unhealthy node (NodeIll: GpuMemWatch: [79] - RecommendedAction: RESTART_VM): the whole job restarts as attempt 1, 1 more follow, not charged."
	if diff := cmp.Diff([]string{"|" + message}, notes(p, v1alpha1.EventRestarting)); diff != "" || len(p.Steps) > 0 || p.Status.Reason != v1alpha1.ReasonReplicaLost {
		t.Errorf("%s, %d steps, Events (-want +got):\n%s", p.Status.Reason, len(p.Steps), diff)
	}
	avoided := []string{"|New pods avoid node-worker-1 until 2026-01-06 12:01 UTC: NodeIll, failure 1.", "node-worker-1|TrainingJob team-a/j avoids this node until 2026-01-06 12:01 UTC: NodeIll."}
	if diff := cmp.Diff(avoided, notes(p, v1alpha1.EventNodeAvoided)); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	job = after(t, before)
	if again := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, builder.Life(0, 0)), builder.Running("worker", 1, builder.Life(0, 0)), ill, builder.Others(2))); again.Status.Attempt != 1 || len(again.Restarts) > 0 {
		t.Errorf("the next pass restarts again: %s", again)
	}
	creates := plan.Make(builder.Snapshot(job, builder.Ill("b", "node-worker-1"))).Steps
	if len(creates) != 2 {
		t.Fatalf("steps %v, want two pods", lines(creates))
	}
	for _, step := range creates {
		pod := plan.Pods(job)(step.(plan.CreatePod))
		affinity := pod.Spec.Affinity.NodeAffinity
		var got []string
		for _, term := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, field := range term.Preference.MatchFields {
				got = append(got, fmt.Sprint(field.Operator, " ", field.Values, " ", term.Weight))
			}
		}
		if diff := cmp.Diff([]string{"NotIn [b] 100", "NotIn [node-worker-1] 100"}, got); diff != "" || affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			t.Errorf("%s prefers (-want +got):\n%s", pod.Name, diff)
		}
	}
}

func TestAJobThatStaysOnAnIllNodeSaysSo(t *testing.T) {
	ill := builder.NodeIll("node-worker-1", "GpuMemWatch", "[79]", 20*second)
	run := seen(builder.Running("worker", 0), builder.Running("worker", 1), ill, builder.Others(1))
	job := underWay(t, takenOn(t, builder.Framework(v1alpha1.PyTorch), builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1))
	before := builder.Snapshot(job, run...)
	p := plan.Make(before)
	want := []string{"|The job stays on the unhealthy node node-worker-1 (GpuMemWatch: [79]): there are too few other nodes. New pods prefer other nodes until 2026-01-06 12:01 UTC.",
		"node-worker-1|TrainingJob team-a/j stays on this unhealthy node: there are too few other nodes."}
	if diff := cmp.Diff(want, notes(p, v1alpha1.EventNodeAvoided)); diff != "" || p.Status.Attempt > 0 {
		t.Errorf("attempt %d, Events (-want +got):\n%s", p.Status.Attempt, diff)
	}
	again := plan.Make(builder.Snapshot(after(t, before), append(slices.Clone(run), builder.Now(300*second), builder.Others(9))...))
	if events := notes(again, v1alpha1.EventNodeAvoided); len(events) > 0 || again.Status.Attempt > 0 {
		t.Errorf("attempt %d, new Events: %v", again.Status.Attempt, events)
	}
}
