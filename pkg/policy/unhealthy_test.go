package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The node's owner drains. A restart by the operator would only come before that, and a condition may be a false alarm.
func TestAJobGoesOnOnAnUnhealthyNode(t *testing.T) {
	for name, node := range map[string]string{"of one of its pods": node1, "elsewhere": "elsewhere"} {
		s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1),
			builder.NodeIll(node, "GpuMemWatch", "[79] fell off the bus - RecommendedAction: RESTART_VM", 20*second))
		if v := policy.Judge(s); v.Kind != policy.Continue || len(v.Accounts.AvoidedNodes) > 0 {
			t.Errorf("%s: ruling %d (%s), avoided %v", name, v.Kind, v.Message, v.Accounts.AvoidedNodes)
		}
	}
}
