package failure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The last words of ranks whose peer left, as real programs left them.
var followers = []string{
	"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [198.18.41.34]:2993",
	"[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Read error [10.1.0.5]:41514: Connection reset by peer",
	"torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
	"BrokenPipeError: [Errno 32] Broken pipe",
	"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42) ran for 600000 milliseconds before timing out.",
	"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
	"torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Did the remote server shutdown or crash?",
	"Failed to receive: Connection was likely closed.", "UNAVAILABLE: Socket closed",
	"JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details.",
}

// The watchdogs of NCCL and JAX abort a rank that has lost a peer: exit codes 134 and 139 may be a follower's.
func TestARankThatAbortsMayBeAFollower(t *testing.T) {
	for _, code := range []int32{134, 139} {
		checkAborted(t, code)
	}
}

func checkAborted(t *testing.T, code int32) {
	t.Helper()
	job := builder.Job("j", pytorch, builder.Workers(3))
	aborted := func(index int, words string) builder.SnapshotOption {
		return builder.Failed("worker", index, builder.ExitSaying(code, "Error", words), builder.At(30*second))
	}
	raised := func(words string) builder.SnapshotOption {
		return builder.Failed("worker", 1, builder.ExitSaying(1, "Error", words), builder.At(30*second))
	}
	for name, c := range map[string]struct {
		seen []builder.SnapshotOption
		want int32
	}{
		"the words of the aborted ranks":   {seen(aborted(0, followers[2]), raised("ValueError: batch 17 is empty"), aborted(2, followers[2])), 1},
		"the code that one rank alone has": {seen(aborted(0, ""), raised(""), aborted(2, "")), 1},
		"one rank alone aborts":            {seen(builder.Failed("worker", 0, builder.Exit(1), builder.At(30*second)), raised(""), aborted(2, "")), 2},
	} {
		s := builder.Snapshot(job, c.seen...)
		if restarts := failure.Restarts(s, failure.Find(s)); len(restarts) != 1 || restarts[0].Index != c.want {
			t.Errorf("%d, %s: %+v, want worker-%d", code, name, restarts, c.want)
		}
		if f := &failure.Find(s)[0].Failure; !failure.MayBeFollower(f) {
			t.Errorf("%d, %s: the decision does not wait for the ranks that have yet to end", code, name)
		}
	}
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
			if c.want == 1 && restarts[0].Alike != 0 {
				t.Errorf("%s: %d alike, want none", name, restarts[0].Alike)
			}
		}
	}
}

// A rank that starts before its peers listen is refused at first, and its log shows that. If it breaks soon, these words are among its last.
func TestARankThatMetItsPeersIsNamedAlthoughTheyRefusedItAtFirst(t *testing.T) {
	const refused = "The client socket has failed to connect to worker-0:29500 (errno: 111 - Connection refused). rank 1 of 3: step 1 "
	for _, words := range followers {
		for culprit := range int32(3) {
			for _, end := range []string{"", "ValueError: batch 17 is empty"} {
				var all []builder.SnapshotOption
				for index := range int32(3) {
					said := refused + words
					if index == culprit {
						said = refused + end
					}
					all = append(all, builder.Failed("worker", int(index), builder.ExitSaying(1, "Error", said), builder.At(30*second)))
				}
				s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(3)), all...)
				if restarts := failure.Restarts(s, failure.Find(s)); len(restarts) != 1 || restarts[0].Index != culprit {
					t.Errorf("worker-%d ends with %q, the others with %q: %+v", culprit, end, words, restarts)
				}
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
	for said, want := range map[string]int{"ValueError: batch 17 is empty": 1, "Connection closed by peer": 0, "": 1} {
		if got := explained(builder.Snapshot(job, late(said)...)); len(got) != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

// A rank that JAX aborts is heard late as often as the one that raised the exception. It explains nothing.
func TestAFollowerThatIsHeardLateExplainsNothing(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3), builder.Attempt(1), builder.Incidents(incident(saying("ValueError: batch 17 is empty"))))
	for name, c := range map[string]struct {
		code int32
		said string
		at   time.Duration
		want int
	}{
		"in the same second":             {139, followers[len(followers)-1], 30 * second, 0},
		"a second before":                {139, followers[len(followers)-1], 29 * second, 0},
		"long before":                    {139, followers[len(followers)-1], 20 * second, 1},
		"it crashed in the same second":  {139, "Segmentation fault in decode_jpeg", 30 * second, 1},
		"its log goes on after a reset":  {139, "Connection reset by peer" + strings.Repeat(" step", 205), 30 * second, 0},
		"it was killed, after a timeout": {137, "the download timed out, trying again", 30 * second, 1},
	} {
		late := builder.Failed("worker", 2, builder.Life(0, 0), builder.ExitSaying(c.code, "Error", c.said), builder.At(c.at))
		if got := explained(builder.Snapshot(job, seen(late)...)); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}

// Any input or output fails in the same words, so words about it are evidence of a lost peer only beside the name of one, or of a library.
func TestWordsAboutInputAreWeakEvidence(t *testing.T) {
	const own, closed = "ValueError: batch 17 is empty", "Connection closed by peer"
	exit := func(index int, said string) builder.SnapshotOption {
		return builder.Failed("worker", index, builder.ExitSaying(1, "Error", said), builder.At(30*second))
	}
	for _, c := range []struct {
		words    string
		isOfPeer bool
	}{
		{"EOFError: Ran out of input", false},
		{"[rank1]: EOFError: Ran out of input", false},
		{"unexpected EOF", false},
		{"ConnectionRefusedError: [Errno 111] Connection refused", false},
		{"TimeoutError: [Errno 110] Connection timed out: '/data/shard-7'", false},
		{"botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL: \"https://s3.example.com/\"", false},
		{"[worker.py] read of rank 3: EOF", true},
		{"torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.", true},
		{"[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42)", true},
		{"tensorflow.python.framework.errors_impl.DeadlineExceededError: Deadline Exceeded", true},
		{"E0000 coordination_service_agent: Heartbeat timed out", true},
		{"the socket to MASTER_ADDR timed out", true},
	} {
		s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), exit(0, c.words), exit(1, own))
		if got := failure.Restarts(s, failure.Find(s))[0].Index; got != 1 {
			t.Errorf("%q is named before words of its own", c.words)
		}
		s = builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), exit(0, ""), exit(1, c.words))
		if got := failure.Restarts(s, failure.Find(s))[0].Index; (got == 0) != c.isOfPeer {
			t.Errorf("beside a rank without words, %q: worker-%d is named", c.words, got)
		}
		s = builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), exit(0, closed), exit(1, c.words))
		if got := failure.Restarts(s, failure.Find(s))[0].Index; (got == 0) != c.isOfPeer {
			t.Errorf("beside a rank that lost its peer, %q: worker-%d is named", c.words, got)
		}
	}
}
