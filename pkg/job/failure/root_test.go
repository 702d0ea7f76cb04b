package failure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// All ranks of a collective end in the same second, and Kubernetes' times are no finer. An exit code of one rank alone comes before a code
// of several, even if no restart can fix it.
func TestTheFirstCauseAmongEndsOfOneSecond(t *testing.T) {
	follower := func(index int) builder.SnapshotOption { return builder.Failed("worker", index, builder.Exit(1)) }
	for name, c := range map[string]struct {
		root builder.SnapshotOption
		want string
	}{
		"ran out of memory":                  {builder.Failed("worker", 2, builder.ExitSaying(137, "OOMKilled", "")), "worker-2 OOM Job charged"},
		"was killed":                         {builder.Failed("worker", 2, builder.Exit(137)), "worker-2 Retryable Job charged"},
		"crashed":                            {builder.Failed("worker", 2, builder.Exit(139)), "worker-2 Retryable Job charged"},
		"has an exit code of its own":        {builder.Failed("worker", 2, builder.Exit(42)), "worker-2 Retryable Job charged"},
		"has the code for a useless restart": {builder.Failed("worker", 2, builder.Exit(93)), "worker-2 Fatal"},
		"has it a second after the others":   {builder.Failed("worker", 2, builder.Exit(93), builder.At(31*second)), "worker-0 Retryable Job charged"},
		"ended as the others did":            {follower(2), "worker-0 Retryable Job charged"},
	} {
		job := builder.Job("j", pytorch, builder.Workers(4))
		if got := restarts(builder.Snapshot(job, follower(0), follower(1), c.root, follower(3))); got != c.want {
			t.Errorf("one rank %s: %s, want %s", name, got, c.want)
		}
	}
}

func TestOneIncident(t *testing.T) {
	custom := builder.Job("j", builder.Workers(3), builder.PS(2))
	byRole := builder.Job("j", builder.Workers(3, builder.Scope(v1alpha1.ScopeRole)), builder.PS(1))
	collective := builder.Job("j", pytorch, builder.Workers(3))
	exits := builder.Job("j", pytorch, builder.Workers(3, builder.Policy(v1alpha1.RestartExitCode)))
	failed := func(role string, index int, code int32, at int) builder.SnapshotOption {
		return builder.Failed(role, index, builder.Exit(code), builder.At(time.Duration(30+at)*second))
	}
	checkRestarts(t, []restartCase{
		{"several ranks of a collective fail: one restart, for the earliest",
			collective, seen(failed("worker", 0, 1, 3), failed("worker", 1, 1, 1), failed("worker", 2, 1, 2)),
			"worker-1 Retryable Job charged"},
		{"a lost pod explains an exit in the same second",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(30*second))),
			"worker-2 Infrastructure Job free"},
		{"a lost pod does not explain an earlier exit",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(31*second))),
			"worker-0 Retryable Job charged"},
		{"a node that is lost within the incident window explains an earlier exit",
			collective, seen(failed("worker", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 45*second)),
			"worker-1 Infrastructure Job free"},
		{"a node that is lost after it does not",
			collective, seen(failed("worker", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 91*second), builder.Now(120*second)),
			"worker-0 Retryable Job charged"},
		{"a drain explains only what came after it",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(40*second), builder.Disrupted("EvictionByEvictionAPI", 40*second))),
			"worker-0 Retryable Job charged"},
		{"a lost parameter server explains its worker's earlier exit",
			custom, seen(failed("worker", 0, 1, 0), builder.Running("ps", 1), builder.NodeLost("node-ps-1", 40*second)),
			"ps-1 Infrastructure Job free"},
		{"a worker's lost node does not explain a parameter server's exit",
			custom, seen(failed("ps", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 40*second)),
			"ps-0 Retryable Job charged"},
		{"a signal explains a permanent exit code in the same second",
			exits, seen(failed("worker", 0, 1, 0), failed("worker", 2, 137, 0)), "worker-2 Retryable Job charged"},
		{"a permanent exit code that comes first is the cause",
			exits, seen(failed("worker", 0, 1, 0), failed("worker", 2, 137, 1)), "worker-0 Fatal"},
		{"a permanent exit code that comes later is a consequence",
			exits, seen(failed("worker", 0, 1, 1), failed("worker", 2, 137, 0)), "worker-2 Retryable Job charged"},
		{"replicas with a life of their own are restarted one by one, earliest first",
			custom, seen(failed("worker", 0, 1, 2), failed("worker", 2, 1, 1), builder.Running("worker", 1)),
			"worker-2 Retryable Replica charged, worker-0 Retryable Replica joins"},
		{"a failure of scope Job takes the failures of narrower scope with it",
			custom, seen(failed("worker", 0, 1, 1), failed("ps", 1, 1, 2), failed("ps", 0, 1, 3)), "ps-1 Retryable Job charged"},
		{"an independent fatal exit before it is not its consequence",
			custom, seen(failed("worker", 0, 127, 1), failed("ps", 1, 1, 2)), "worker-0 Fatal"},
		{"a failure comes before a program that has completed and runs again", builder.Job("j", builder.Workers(3, builder.Policy(v1alpha1.RestartAlways))),
			seen(builder.Succeeded("worker", 1, builder.At(10*second)), failed("worker", 2, 1, 0)), "worker-2 Retryable Replica charged, worker-1 Completed Replica free"},
		{"a role is restarted once, however many of it fail",
			byRole, seen(failed("worker", 0, 1, 2), failed("worker", 2, 1, 1)), "worker-2 Retryable Role charged"},
		{"a fatal exit among replicas of their own stays among them",
			custom, seen(failed("worker", 0, 1, 1), failed("worker", 1, 126, 2)), "worker-0 Retryable Replica charged, worker-1 Fatal"},
		{"a lost pod and a failed one are charged by their own causes", custom, seen(builder.Gone("worker", 0), failed("worker", 1, 1, 1)),
			"worker-0 Infrastructure Replica free, worker-1 Retryable Replica charged"},
	})
}

// Kubernetes' times have whole seconds: if ranks end in one second in the same way, the first of them is unknown.
func TestAFailureShowsHowManyMayHaveBeenTheFirst(t *testing.T) {
	exit := func(index int, code int32, at time.Duration) builder.SnapshotOption {
		return builder.Failed("worker", index, builder.Exit(code), builder.At(at))
	}
	for name, c := range map[string]struct {
		seen []builder.SnapshotOption
		want int32
	}{
		"alone":                                   {seen(exit(0, 1, 30*second)), 0},
		"with another in its second":              {seen(exit(0, 1, 30*second), exit(1, 1, 30*second)), 1},
		"a second before the other":               {seen(exit(0, 1, 30*second), exit(1, 1, 31*second)), 0},
		"with another that has a code of its own": {seen(exit(0, 1, 30*second), exit(1, 42, 30*second)), 0},
	} {
		got := first(t, c.seen...)
		if got.Alike != c.want {
			t.Errorf("%s: %d alike, want %d", name, got.Alike, c.want)
		}
		if text := failure.Describe(got); strings.Contains(text, "and 1 more did in the same second") != (c.want == 1) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
