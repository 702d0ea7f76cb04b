package invariant

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// checkNumber: no two processes of a slot have the same fencing token, and the later one has the larger. A pod that never had a node had no
// process, nor had one that its node turned away.
func (c *Checker) checkNumber(h *history, pod *corev1.Pod, slot state.Slot) {
	number := ledger.LifeNumber(pod)
	if number < 0 {
		c.violate("3 fence: %s does not show its processes the number of its life", pod.Name)
	}
	for at, fates := range h.fates {
		for _, f := range fates {
			if at.slot == slot && f.node != "" && (f.ran || !f.rejected) && f.uid != pod.UID && f.number >= number {
				c.violate("3 fence: %s has the life number %d, and an earlier process of %s had %d", pod.Name, number, slot, f.number)
			}
		}
	}
}
