package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// The node of a slot's latest pod is known once that pod is gone. No node is returned for a slot that has its pod.
func TestThePreviousNodeIsThatOfTheLatestPod(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0))
	next := builder.Job("j", builder.Workers(3), builder.StartedAt(0), builder.Attempt(1))
	pod := func(index, attempt int, node string) state.Pod {
		full := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: index}, state.Life{Attempt: attempt}, corev1.PodRunning, builder.On(node))
		full.Spec.NodeName = node
		p, _ := state.PodOf("j", full)
		return p
	}
	worker := func(i int) state.Slot { return state.Slot{Role: v1alpha1.Worker, Index: i} }
	c, _ := refusing()
	for _, pass := range []struct {
		name string
		job  *v1alpha1.TrainingJob
		pods []state.Pod
		want map[state.Slot]string
	}{
		{"nothing was seen", job, nil, map[state.Slot]string{}},
		{"pods have nodes", job, []state.Pod{pod(0, 0, "a"), pod(1, 0, "b"), pod(2, 0, "")}, map[state.Slot]string{}},
		{"the attempt is over", next, []state.Pod{pod(0, 0, "a"), pod(1, 0, "b"), pod(2, 0, "")}, map[state.Slot]string{worker(0): "a", worker(1): "b"}},
		{"all are gone", next, nil, map[state.Slot]string{worker(0): "a", worker(1): "b"}},
		{"one is back", next, []state.Pod{pod(0, 1, "c")}, map[state.Slot]string{worker(1): "b"}},
		{"one of before is late", next, []state.Pod{pod(0, 0, "a")}, map[state.Slot]string{worker(0): "c", worker(1): "b"}},
	} {
		s := builder.Snapshot(pass.job, func(o *state.Observed) { o.Pods = pass.pods })
		if diff := cmp.Diff(pass.want, c.previousNodes(s)); diff != "" {
			t.Errorf("%s: previous nodes (-want +got):\n%s", pass.name, diff)
		}
	}
}
