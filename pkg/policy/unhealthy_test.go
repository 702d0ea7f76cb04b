package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/pkg/nodes"
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

func TestNewPodsPreferOtherNodes(t *testing.T) {
	cases := []struct {
		name string
		job  []builder.JobOption
		seen []builder.SnapshotOption
		want []string
	}{
		{"than unhealthy ones, which the job has never met", nil, seen(builder.Ill("b", "c")), []string{"b", "c"}},
		{"than those and the ones that it avoids", []builder.JobOption{builder.Avoided("c", hour), builder.Avoided("d", hour)}, seen(builder.Ill("b", "c")), []string{"b", "c", "d"}},
		{"for as long as it avoids them", []builder.JobOption{builder.Avoided("c", second)}, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append([]builder.JobOption{builder.Workers(2)}, c.job...)...), c.seen...)
			if diff := cmp.Diff(c.want, nodes.NotPreferred(s)); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}
