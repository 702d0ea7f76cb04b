package sim_test

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/test/sim/world"
)

// silence is a node that renews its Lease no more after so many ticks, and a rank elsewhere that breaks then: its restart waits for the node.
type silence struct {
	rng   *rand.Rand // its own: the draws of other storms stay
	after int
	node  string
}

// newSilence returns the silence of a seed; nil for seven seeds of eight.
func newSilence(seed int64) *silence {
	rng := rand.New(rand.NewPCG(uint64(seed), 2))
	if rng.IntN(8) > 0 {
		return nil
	}
	return &silence{rng: rng, after: 10 + rng.IntN(20)}
}

func (s *silence) tick(r *run) {
	if s.rng.IntN(30) == 0 {
		s.toggleLeases(r)
	}
	if s.after--; s.after > 0 {
		return
	}
	runs := func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && !world.HasEnded(pod)
	}
	pods := r.Pods()
	if at := slices.IndexFunc(pods, runs); s.node == "" && at >= 0 {
		s.begin(r, pods[at].Spec.NodeName)
	}
	elsewhere := func(pod *corev1.Pod) bool { return runs(pod) && pod.Spec.NodeName != s.node }
	if at := slices.IndexFunc(pods, elsewhere); s.node != "" && at >= 0 {
		r.Exit(pods[at], 1, "the connection is lost")
		s.after = 60 // once more, much later
	}
}

// toggleLeases has a node that works renew no Lease, or renew it again, or the API server take few of the renewals.
func (s *silence) toggleLeases(r *run) {
	if s.rng.IntN(2) == 0 {
		r.Leases.Slow = s.rng.IntN(2) * s.rng.IntN(40)
		return
	}
	node := nodes[s.rng.IntN(len(nodes))]
	r.Leases.Mute[node] = !r.Leases.Mute[node]
}

// begin silences a node: it dies, and the node controller notices that late or never, or it lives, renews no Lease, and its pods do not end.
func (s *silence) begin(r *run, node string) {
	s.node = node
	if s.rng.IntN(2) == 0 {
		r.SilenceNode(node, time.Duration(30+s.rng.IntN(90))*time.Second)
		return
	}
	r.Leases.Mute[node] = true
	for _, pod := range r.Pods() {
		if pod.Spec.NodeName == node {
			r.Deaf[pod.Spec.Hostname] = true
		}
	}
}
