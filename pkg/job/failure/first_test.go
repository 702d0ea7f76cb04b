package failure_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// end is how a rank ends: when, with which code and last words, for which reason, and what that shows.
type end struct {
	at     int
	code   int32
	words  string
	reason string
	shows  string
}

const (
	closed = "RuntimeError: [pair.cc:598] Connection closed by peer [10.1.2.3]:2993"
	early  = "failed to connect to worker-0:29500: Connection refused"
	batch  = "ValueError: batch 17 is empty"
)

var (
	// guilty are the ends of ranks that failed first.
	guilty = []end{
		{code: 1, words: batch, shows: "an error"}, {code: 1, words: "EOFError: Ran out of input", shows: "a failed input"},
		{code: 1, words: "TimeoutError: [Errno 110] Connection timed out: '/data/shard-7'", shows: "a failed input"},
		{code: 42, shows: "a code"}, {code: 42, words: batch, shows: "a code"}, {code: 134, words: "terminate called after throwing an instance of 'std::bad_alloc'", shows: "a code"},
		{code: 139, words: "Segmentation fault in decode_jpeg", shows: "a code"}, {code: 137, shows: "a kill"}, {code: 143, reason: "Evicted", shows: "a kill"},
		{code: 137, reason: "OOMKilled", shows: "no memory"},
	}
	// following are the ends of ranks that have lost a peer.
	following = []end{
		{code: 1, words: closed, shows: "a lost peer"}, {code: 134, words: followers[2], shows: "a lost peer"}, {code: 139, words: followers[len(followers)-1], shows: "a lost peer"},
		{code: 1, words: early, shows: "a peer not met"}, {code: 1, shows: "nothing"}, {code: 139, shows: "nothing"}, {code: 143, shows: "nothing"},
		{code: 134, words: "frame #7: c10d::Watchdog() + 0xd6df4\nframe #8: clone + 0x43", shows: "nothing"},
	}
)

// isTie reports whether nothing separates two ends: they are of one second and show the same. A code that two ranks have shows nothing, so their
// words decide.
func isTie(a, b end) bool {
	byWords := func(e end) string {
		switch {
		case e.shows == "a code" && e.words != "":
			return "an error"
		case e.shows == "a code":
			return "nothing"
		default:
			return e.shows
		}
	}
	return a.at == b.at && (a.shows == b.shows || byWords(a) == byWords(b))
}

// isAsked reports whether the program ended because of SIGTERM.
func (e end) isAsked() bool { return e.code == 143 && e.reason == "" }

// isSilent reports whether the program ended without a word and with the code of any exception, as it also does when its pod is deleted.
func (e end) isSilent() bool { return e.code == 1 && e.words == "" }

// isItsOwn reports whether the code is neither of a lost peer nor of a watchdog: this rank has followed nothing.
func (e end) isItsOwn() bool { return !slices.Contains([]int32{1, 134, 139, 143}, e.code) }

func (e end) options() []builder.PodOption {
	if e.reason == "Evicted" {
		return seenPod(builder.Rejected("Evicted", "too much"), builder.Exit(e.code), builder.At(time.Duration(e.at)*second))
	}
	reason := "Error"
	if e.reason != "" {
		reason = e.reason
	}
	return seenPod(builder.ExitSaying(e.code, reason, e.words), builder.At(time.Duration(e.at)*second))
}

func seenPod(options ...builder.PodOption) []builder.PodOption { return options }

// namedAtOnce returns the rank that is named if the ends of the given ranks are seen before the restart.
func namedAtOnce(t *testing.T, ends []end, isSeen func(int) bool) v1alpha1.Incident {
	t.Helper()
	var pods []builder.SnapshotOption
	for i, e := range ends {
		pod := builder.Running("worker", i)
		if isSeen(i) {
			pod = builder.Failed("worker", i, e.options()...)
		}
		pods = append(pods, pod)
	}
	s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(len(ends))), append(pods, builder.Now(35*second))...)
	restarts := failure.Restarts(s, failure.Find(s))
	if len(restarts) != 1 {
		t.Fatalf("%+v: %d restarts", ends, len(restarts))
	}
	return restarts[0].Incident
}

// namedLate returns the rank that is named if one was seen before the restart, and all others after it. The operator has deleted their pods by then,
// or not yet.
func namedLate(t *testing.T, ends []end, seenFirst int, isDeleted bool) int32 {
	t.Helper()
	incident := namedAtOnce(t, ends, func(i int) bool { return i == seenFirst })
	var pods []builder.SnapshotOption
	for i, e := range ends {
		options := append(e.options(), builder.Life(0, 0))
		if isDeleted && i != seenFirst {
			options = append(options, builder.DeletedAt(35*second))
		}
		pods = append(pods, builder.Failed("worker", i, options...))
	}
	job := builder.Job("j", pytorch, builder.Workers(len(ends)), builder.Attempt(1), builder.StartedAt(0), builder.Incidents(incident))
	for _, a := range failure.Explain(builder.Snapshot(job, append(pods, builder.Now(40*second))...), nil) {
		if state.PodName("j", failure.SlotOf(&a.Is.Failure), state.Life{}) == a.Was.Pod {
			t.Fatalf("%+v: an amendment names the same rank: %+v", ends, a)
		}
		incident = a.Is
	}
	return incident.Index
}

// Who failed first depends on how the ranks ended, not on the order in which the operator saw it, nor on what it has deleted meanwhile. Only ties
// may differ: the one that was seen first stays named.
func TestTheRankNamedDoesNotDependOnWhatIsSeenFirst(t *testing.T) {
	kinds := append(append([]end{}, guilty...), following...)
	differ := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ends := make([]end, 3+rng.IntN(3))
		for i := range ends {
			ends[i] = kinds[rng.IntN(len(kinds))]
			ends[i].at = 30 + rng.IntN(4)
		}
		want := namedAtOnce(t, ends, func(int) bool { return true }).Index
		for seenFirst := range ends {
			for _, isDeleted := range []bool{false, true} {
				got := namedLate(t, ends, seenFirst, isDeleted)
				isUnknown := isDeleted && slices.ContainsFunc(ends, func(e end) bool { return e.isAsked() || e.isSilent() && ends[seenFirst].isItsOwn() })
				if got != want && !isUnknown && !isTie(ends[got], ends[want]) {
					t.Fatalf("seed %d: %+v: at once worker-%d; if worker-%d is seen first, worker-%d (deleted: %t)", seed, ends, want, seenFirst, got, isDeleted)
				}
				if got != want {
					differ++
				}
			}
		}
	}
	t.Logf("%d ties differ", differ)
}

// The picture over First.
func TestTheFirstEndIsThatOfThePicture(t *testing.T) {
	for name, ends := range map[string][]end{ // the second one of each is named
		"a code":         {{at: 30, code: 1, words: closed}, {at: 31, code: 42}},
		"a kill":         {{at: 30, code: 1, words: batch}, {at: 30, code: 137}},
		"no memory":      {{at: 30, code: 137}, {at: 31, code: 137, reason: "OOMKilled"}},
		"an error":       {{at: 30, code: 1}, {at: 31, code: 1, words: batch}},
		"a late one not": {{at: 33, code: 1, words: batch}, {at: 30, code: 42}},
	} {
		if got := namedAtOnce(t, ends, func(int) bool { return true }); got.Index != 1 {
			t.Errorf("%s: worker-%d is named", name, got.Index)
		}
	}
}

// One rank fails, and the others lose it. It is named, whatever the operator sees first.
func TestTheGuiltyRankIsNamedWhateverIsSeenFirst(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		ends := make([]end, 2+rng.IntN(4))
		for i := range ends {
			ends[i] = following[rng.IntN(len(following))]
			ends[i].at = 30 + rng.IntN(3)
		}
		culprit := rng.IntN(len(ends))
		ends[culprit] = guilty[rng.IntN(len(guilty))]
		ends[culprit].at = 30
		if ends[culprit].reason == "OOMKilled" { // the kernel took a second to end it
			ends[culprit].at += rng.IntN(2)
		}
		if got := namedAtOnce(t, ends, func(int) bool { return true }).Index; got != int32(culprit) {
			t.Fatalf("seed %d: %+v: at once worker-%d, want worker-%d", seed, ends, got, culprit)
		}
		for seenFirst := range ends {
			for _, isDeleted := range []bool{false, true} {
				if got := namedLate(t, ends, seenFirst, isDeleted); got != int32(culprit) {
					t.Fatalf("seed %d: %+v: if worker-%d is seen first, worker-%d (deleted: %t), want worker-%d", seed, ends, seenFirst, got, isDeleted, culprit)
				}
			}
		}
	}
}

// A rank with words about a lost peer followed a deletion that came before the operator saw its end, also if the clock of its node is behind.
func TestARankThatLostAPeerFollowedADeletion(t *testing.T) {
	for _, c := range []struct {
		words string
		seen  time.Duration
		want  int32
	}{{closed, 31 * second, 1}, {closed, 29 * second, 0}, {batch, 31 * second, 0}} {
		f := first(t, builder.Failed("worker", 0, builder.ExitSaying(1, "Error", c.words), builder.At(26*second)),
			func(o *state.Observed) { o.Pods[0].EndSeen = builder.Epoch.Add(c.seen) }, builder.Deleted("worker", 1), builder.Now(33*second))
		if f.Index != c.want {
			t.Errorf("%q, seen after %v: worker-%d is named, want worker-%d", c.words, c.seen, f.Index, c.want)
		}
	}
}
