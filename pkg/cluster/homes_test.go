package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// Where a slot's pod was is known when that pod is gone, and its next one has no node yet.
func TestHomesAreWhereTheLatestPodsWere(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0))
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
		pods []state.Pod
		want map[state.Slot]string
	}{
		{"nothing was seen", nil, map[state.Slot]string{}},
		{"pods have nodes", []state.Pod{pod(0, 0, "a"), pod(1, 0, "b"), pod(2, 0, "")}, map[state.Slot]string{worker(0): "a", worker(1): "b"}},
		{"all are gone", nil, map[state.Slot]string{worker(0): "a", worker(1): "b"}},
		{"the next have none yet", []state.Pod{pod(0, 1, ""), pod(1, 1, "c")}, map[state.Slot]string{worker(0): "a", worker(1): "c"}},
		{"one of before is late", []state.Pod{pod(1, 1, "c"), pod(1, 0, "b")}, map[state.Slot]string{worker(0): "a", worker(1): "c"}},
	} {
		if diff := cmp.Diff(pass.want, c.homes(job, pass.pods)); diff != "" {
			t.Errorf("%s: homes (-want +got):\n%s", pass.name, diff)
		}
	}
}
