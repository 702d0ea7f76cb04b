package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

func TestTheAvoidedNodesLeaveEnoughOthers(t *testing.T) {
	required, preferred := state.Avoided{Required: []string{"a", "b"}}, state.Avoided{Preferred: []string{"a", "b"}}
	job := builder.Job("j", builder.Workers(3), builder.Avoided("a", hour), builder.Avoided("b", hour), builder.Avoided("forgiven", second))
	packed := seen(builder.Running("worker", 0, builder.On("c")), builder.Running("worker", 1, builder.On("c")))
	cases := []struct {
		name string
		seen []builder.SnapshotOption
		want state.Avoided
	}{
		{"one for each replica is left", seen(builder.Usable(3)), required},
		{"one is left too few", seen(builder.Usable(2)), preferred},
		{"replicas on one node need one", append(packed, builder.Usable(2)), required},
		{"and the one that has none yet another", append(packed, builder.Usable(1)), preferred},
		{"a pod that waits needs one", append(packed, builder.Pending("worker", 2), builder.Usable(1)), preferred},
		{"an operator that may not read nodes cannot say", nil, required},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, policy.Avoided(builder.Snapshot(job, c.seen...))); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that has fitted nowhere for 30 s may take an avoided node that is well again.
func TestAnAvoidedNodeIsTakenWhenNoOtherFits(t *testing.T) {
	waits := func(since time.Duration, avoids ...string) builder.SnapshotOption {
		return builder.Pending("worker", 0, builder.UnschedulableSince(since, "no room"), builder.Avoiding(avoids...))
	}
	cases := []struct {
		name string
		seen []builder.SnapshotOption
		want []string
		wake time.Duration
	}{
		{"for a moment", seen(waits(40*second, "a"), builder.Usable(5, "a")), nil, 70 * second},
		{"for 30 s", seen(waits(30*second, "a"), builder.Usable(5, "a")), []string{"a"}, 0},
		{"while the node is not well: look again", seen(waits(0, "a"), builder.Usable(5)), nil, 120 * second},
		{"one of two is well", seen(waits(0, "a", "b"), builder.Usable(5, "b")), []string{"b"}, 0},
		{"nobody knows whether it is well", seen(waits(0, "a")), []string{"a"}, 0},
		{"a pod that excludes none", seen(builder.Pending("worker", 0, builder.UnschedulableSince(0, "no room")), builder.Usable(5, "a")), nil, 0},
		{"a pod that has a node", seen(builder.Running("worker", 0, builder.Avoiding("a")), builder.Usable(5, "a")), nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			nodes, wake := policy.Yield(builder.Snapshot(builder.Job("j", builder.Workers(1), builder.Avoided("a", hour), builder.Avoided("b", hour)), c.seen...))
			if diff := cmp.Diff(c.want, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if want := builder.Epoch.Add(c.wake); c.wake == 0 && !wake.IsZero() || c.wake != 0 && !wake.Equal(want) {
				t.Errorf("wakes at %v, want %v", wake, want)
			}
		})
	}
}
