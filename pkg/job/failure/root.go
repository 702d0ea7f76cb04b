package failure

import (
	"math"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// First returns the end with which the others began, as far as it shows, and sorts the ends. It answers before a restart, and again after it for
// all ends that show by then. It is the first in order, unless another end explains that one: a loss, a lack of memory for which the kernel took
// a second, or an end that shows an error. Followers that end without words may seem to have ended before it. A watchdog ends ranks only after another one.
//
//	the ends, by second and what they show                    first        because
//	30 code 1 "Connection closed", 31 code 42                 code 42      words of a lost peer follow what ended up to 2 s later
//	30 code 1 "ValueError", 30 code 137                       137          in one second a kill shows more than words
//	30 code 137, 31 OOMKilled                                 OOMKilled    the kernel took a second
//	30 code 1 without words, 31 code 1 "ValueError"           ValueError   it shows what happened
//	30 code 134 "Watchdog", 55 node lost                      the node     a loss shows late
//	30 code 1 "Connection closed", 36 evicted                 evicted      a busy kubelet reports an eviction late
//	30 code 1 on a slow clock, seen at 32; 31 code 42, at 31  code 42      the silent end was seen later
func First(s *state.Snapshot, ends []Restart) *Restart {
	inOrder(ends)
	first := earliest{Failure: ends[0].Failure, isSilent: isSilent(&ends[0].Failure) && !ReasonOf(ends[0].Reason).IsOfTemplate}
	first.followedBy = followedBy(s, &ends[0].Incident, first.isSilent)
	for _, explains := range []func(*state.Snapshot, *earliest, *v1alpha1.Failure) bool{byLoss, byEviction, byMemory, byWords} {
		if i := slices.IndexFunc(ends, func(end Restart) bool { return explains(s, &first, &end.Failure) }); i >= 0 {
			return &ends[i]
		}
	}
	return &ends[0]
}

// earliest is the end that is first in order, unless another one explains it.
type earliest struct {
	v1alpha1.Failure
	followedBy time.Time
	// isSilent is whether it is an end of followers, and no words show of what.
	isSilent bool
}

func byLoss(s *state.Snapshot, first *earliest, f *v1alpha1.Failure) bool {
	return explainsFailure(s, f, first.followedBy)
}

// byEviction: a busy kubelet reports an eviction after the exits of the ranks that followed. An error of its own followed nothing.
func byEviction(_ *state.Snapshot, first *earliest, f *v1alpha1.Failure) bool {
	mayFollow := IsOfProgram(&first.Failure) && hasFollowersCode(&first.Failure) && wordsOf(&first.Failure) >= noWords
	return mayFollow && f.Reason == evicted && !f.Time.After(first.followedBy.Add(clocksAgree))
}

func byMemory(_ *state.Snapshot, first *earliest, f *v1alpha1.Failure) bool {
	return IsOfProgram(&first.Failure) && f.Reason == outOfMemory && !f.Time.After(first.Time.Add(time.Second))
}

// byWords: an end that shows nothing followed one that shows an error or a code of its own, if that ended at most a little later, or was seen no later: the
// clock of the silent one's node may be some seconds slow.
func byWords(s *state.Snapshot, first *earliest, f *v1alpha1.Failure) bool {
	within, shows := followsWithin, wordsOf(f) < noWords
	if isAgents(f) {
		within, shows = within+agentNotices, shows || evidenceOf(f, noWords, false) < 2
	}
	isSoon := shows && !f.Time.After(first.Time.Add(within))
	seen, firstSeen := SeenAt(s, f), SeenAt(s, &first.Failure)
	isSeenFirst := !seen.IsZero() && seen.Before(firstSeen) && IsOfProgram(f) && showsItself(f)
	return (first.isSilent || LateCulprit(&first.Failure) > 0) && (isSoon || isSeenFirst)
}

// inOrder sorts ends so that the first cause comes first, as far as it shows. Kubernetes gives times in whole seconds, and all ranks of a
// collective end within one second when one does. Within a second a cause from outside explains an exit, and then the evidence of each exit
// decides. Followers end alike, so a code that others have in that second shows less. Equal ends stay in their order.
func inOrder(ends []Restart) {
	kindOf := func(f *v1alpha1.Failure) [2]int64 { return [2]int64{f.Time.Unix(), int64(ExitCode(f))} }
	pods := map[[2]int64]map[string]bool{} // an incident and what shows late of it are of one pod
	for i := range ends {
		kind := kindOf(&ends[i].Failure)
		if pods[kind] == nil {
			pods[kind] = map[string]bool{}
		}
		pods[kind][ends[i].Pod] = true
	}
	for i := range ends {
		f := &ends[i].Failure
		ends[i].Place = placeOf(f, int64(len(pods[kindOf(f)])))
	}
	slices.SortStableFunc(ends, func(a, b Restart) int { return slices.Compare(a.Place, b.Place) })
}

// placeOf returns the place of an end among others, by the first of the numbers in which they differ. What is no failure comes last. A rank that speaks
// of a lost peer followed another one, although it may seem to have ended before it. A fatal exit of a program counts like other exits: the reaction to
// an exit does not show which exit was first.
func placeOf(f *v1alpha1.Failure, sharing int64) []int64 {
	words, second, cause := wordsOf(f), f.Time.Unix(), f.Cause
	switch {
	case !IsFailure(cause):
		second = math.MaxInt64
	case f.Reason == v1alpha1.ReasonVanished: // before this process of the operator began
		second = 0
	case words >= lostEarly:
		second = f.Time.Add(followsWithin).Unix()
	}
	if IsOfProgram(f) && cause == v1alpha1.CauseFatal {
		cause = v1alpha1.CauseRetryable
	}
	return []int64{second, int64(slices.Index(causesInOrder, cause)), evidenceOf(f, words, sharing > 1), sharing, f.Time.Unix()}
}

// hasFollowersCode reports whether ranks that have lost a peer exit so: with 1 of an exception, 130 and 143 of a launcher or an agent that ends its
// ranks, 134 and 139 of a watchdog. Every other code shows something of the rank's own.
func hasFollowersCode(f *v1alpha1.Failure) bool {
	return isAbort(f) || slices.Contains([]int32{1, 128 + 2, 128 + 15}, ExitCode(f))
}

// isSilent reports whether the rank ended as followers do, and shows nothing of what it followed.
func isSilent(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && hasFollowersCode(f) && wordsOf(f) == noWords
}

// showsItself reports whether an end shows something of its own: a kill, a code or words.
func showsItself(f *v1alpha1.Failure) bool {
	return wordsOf(f) < noWords || wordsOf(f) == noWords && !hasFollowersCode(f)
}

// isAbort reports whether the watchdog of NCCL or JAX may have aborted the rank. The code is 134 then, or 139 if the rank is process 1 of its
// container, which ABRT does not end. Under torchrun it is another process.
func isAbort(f *v1alpha1.Failure) bool {
	return ExitCode(f) == 128+6 || ExitCode(f) == 128+11 && !isAgents(f)
}

// evidenceOf orders exits by how well they show the first failure: a kill from outside, then a code of its own that no other rank has, then the
// words. A crash with words of its own has a code of its own, too.
func evidenceOf(f *v1alpha1.Failure, words int64, isShared bool) int64 {
	isOwnCode := !hasFollowersCode(f) || isAbort(f) && words == ownWords
	switch {
	case isKill(f) || ReasonOf(f.Reason).IsOfTemplate:
		return 0
	case isOwnCode && !isShared && words < lostEarly:
		return 1
	default:
		return 2 + words
	}
}

func isKill(f *v1alpha1.Failure) bool { return ExitCode(f) == 128+9 }

// alike returns how many of the failures look the same as this one: programs that ended in the same second in the same way.
func alike(failures []Restart, one *v1alpha1.Failure) int32 {
	var n int32
	for i := range failures {
		f := &failures[i].Failure
		if IsOfProgram(f) && IsOfProgram(one) && f.Pod != one.Pod && f.Time.Unix() == one.Time.Unix() && f.Cause == one.Cause && ExitCode(f) == ExitCode(one) && wordsOf(f) == wordsOf(one) {
			n++
		}
	}
	return n
}

// ExitCode returns the code with which the program ended; under torchrun the code of the rank, not its agent's.
func ExitCode(f *v1alpha1.Failure) int32 {
	if code, isRead := codeInTable(f.Message); isRead {
		return code
	}
	return ptr.Deref(f.ExitCode, 0)
}

// Restarts returns the restarts for the failures, which are sorted by inOrder. One failure of scope Job restarts the whole job, once. One of
// scope Role restarts its role, once. Else each failed replica restarts by itself. Those that end together are one incident.
func Restarts(s *state.Snapshot, broken []Restart) []Restart {
	isWhole := func(restart Restart) bool { return restart.Scope == v1alpha1.ScopeJob }
	if i := slices.IndexFunc(broken, isWhole); i >= 0 {
		// a fatal exit of an independent replica before it is no consequence of this failure
		if apart := slices.IndexFunc(broken[:i], IsFatal); apart >= 0 {
			return broken[apart : apart+1]
		}
		first := First(s, slices.DeleteFunc(slices.Clone(broken), func(restart Restart) bool { return !isWhole(restart) }))
		first.Alike = alike(broken, &first.Failure)
		if known := Ongoing(s, first); known != nil && IsLoss(known.Cause) && s.Job.Spec.Elastic != nil { // it missed a peer
			first.Charged = false
		}
		return []Restart{*first}
	}
	var apart []Restart
	for n := range broken {
		restart := &broken[n]
		ofItsRole := slices.IndexFunc(broken, func(other Restart) bool { return other.Role == restart.Role && other.Scope == v1alpha1.ScopeRole })
		if ofItsRole < 0 || ofItsRole == n || IsFatal(*restart) {
			apart = append(apart, *restart)
		}
	}
	join(s, apart)
	return apart
}

// Followed reports whether the rank shows that it followed another one, or a table of torchrun has no words of why it ended: its code is one that any
// exception or watchdog has, and its words are about a lost peer.
func Followed(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && hasFollowersCode(f) && wordsOf(f) >= lostEarly || isSilent(f) && isAgents(f)
}

// MayHaveFollowed reports whether the rank shows that it followed another one, or shows nothing, and a watchdog may have ended it, or another end shows that.
func MayHaveFollowed(s *state.Snapshot, f *v1alpha1.Failure) bool {
	return Followed(f) || isSilent(f) && (isAbort(f) || slices.ContainsFunc(Find(s), func(i Restart) bool { return Followed(&i.Failure) }))
}

// MayBeFollower reports whether a rank may exit like this because it lost a peer.
func MayBeFollower(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && !isKill(f) && (f.Cause == v1alpha1.CauseRetryable || f.Cause == v1alpha1.CauseFatal)
}

// IsOfRank reports whether the program of a rank has ended by itself.
func IsOfRank(f *v1alpha1.Failure) bool { return IsOfProgram(f) && state.IsNeeded(f.Role) }
