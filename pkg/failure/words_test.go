package failure_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/test/builder"
)

// The last words of ranks whose peer left, as real programs left them.
var followers = []string{
	"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [198.18.41.34]:2993",
	"[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Read error [10.1.0.5]:41514: Connection reset by peer",
	"torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
	"BrokenPipeError: [Errno 32] Broken pipe", "ConnectionRefusedError: [Errno 111] Connection refused", "unexpected EOF",
	"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42) ran for 600000 milliseconds before timing out.",
}

// All ranks of a collective end with code 1 within a second or two when one raises an exception. Its words tell it from the others'.
func TestTheRankWhoseWordsDoNotSpeakOfALostConnectionIsNamed(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3))
	for _, words := range followers {
		exit := func(index int, said string, at time.Duration) builder.SnapshotOption {
			return builder.Failed("worker", index, builder.ExitSaying(1, "Error", said), builder.At(at))
		}
		const culprit = "ValueError: batch 17 is empty"
		for name, c := range map[string]struct {
			seen []builder.SnapshotOption
			want int32
		}{
			"in the same second":        {seen(exit(0, words, 30*second), exit(1, culprit, 30*second), exit(2, words, 30*second)), 1},
			"a second after the others": {seen(exit(0, words, 30*second), exit(1, culprit, 31*second), exit(2, words, 30*second)), 1},
			"long after the others":     {seen(exit(0, words, 30*second), exit(1, culprit, 40*second), exit(2, words, 30*second)), 0},
			"all say the same":          {seen(exit(0, words, 30*second), exit(1, words, 30*second), exit(2, words, 30*second)), 0},
			"one says nothing":          {seen(exit(0, words, 30*second), exit(1, words, 30*second), exit(2, "", 30*second)), 2},
		} {
			s := builder.Snapshot(job, c.seen...)
			restarts := failure.Restarts(s, failure.Find(s))
			if len(restarts) != 1 || restarts[0].Index != c.want {
				t.Errorf("%s, %q: %+v, want worker-%d", name, words, restarts, c.want)
			}
			if c.want == 1 && (restarts[0].Alike != 0 || len(restarts[0].Likewise) != 2) {
				t.Errorf("%s: %d alike, likewise %v; want none, and both", name, restarts[0].Alike, restarts[0].Likewise)
			}
		}
	}
}

// What one rank says counts also if it is heard only when the job has restarted for another.
func TestWordsThatAreHeardLateExplainAFollower(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3), builder.Attempt(1), builder.Incidents(incident(saying("Connection closed by peer"))))
	late := func(said string) []builder.SnapshotOption {
		return seen(builder.Failed("worker", 2, builder.Life(0, 0), builder.ExitSaying(1, "Error", said), builder.At(31*second)))
	}
	for said, want := range map[string]int{"ValueError: batch 17 is empty": 1, "Connection closed by peer": 0, "": 0} {
		if got := explained(builder.Snapshot(job, late(said)...)); len(got) != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
