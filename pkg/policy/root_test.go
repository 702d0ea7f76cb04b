package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// All ranks of a collective end in the same second, and Kubernetes' times are no finer.
func TestWhoFailedFirstAmongEndsOfOneSecond(t *testing.T) {
	follower := func(index int) builder.SnapshotOption { return builder.Failed("worker", index, builder.Exit(1)) }
	cases := []struct {
		name string
		root builder.SnapshotOption
	}{
		{"ran out of memory", builder.Failed("worker", 2, builder.ExitSaying(137, "OOMKilled", ""))},
		{"was killed", builder.Failed("worker", 2, builder.Exit(137))},
		{"crashed", builder.Failed("worker", 2, builder.Exit(139))},
		{"has an exit code of its own", builder.Failed("worker", 2, builder.Exit(42))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := policy.Judge(builder.Snapshot(builder.Job("j", pytorch, builder.Workers(4)), follower(0), follower(1), c.root, follower(3)))
			if v.Failure == nil || v.Failure.Index != 2 {
				t.Errorf("%+v failed first", v.Failure)
			}
		})
	}
}
