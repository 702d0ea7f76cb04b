package failure

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// inOrder sorts failures so that the first cause comes first, as far as it shows. Kubernetes gives times in whole seconds, and all ranks of
// a collective end within one second when one does. Within a second a cause from outside explains an exit, and an exit code that only one
// rank has comes before a code that several have, because followers end alike.
// A rank whose last words speak of a lost connection followed another rank, even one that ended up to two seconds later. Equal failures
// stay in the order of their ranks.
func inOrder(failures []Incident) {
	counts := map[int64]map[int32]int{}
	for i := range failures {
		f := &failures[i].Failure
		if counts[f.Time.Unix()] == nil {
			counts[f.Time.Unix()] = map[int32]int{}
		}
		counts[f.Time.Unix()][exitCode(f)]++
	}
	places := make(map[state.Slot][]int64, len(failures)) // a slot has one failure at most
	for i := range failures {
		f := &failures[i].Failure
		places[SlotOf(f)] = []int64{
			noFailure(f.Cause), beganAt(f), explaining(f), generality(f, counts[f.Time.Unix()]), int64(slices.Index(explains, f.Cause)), lossOfPeer(f),
		}
	}
	slices.SortStableFunc(failures, func(a, b Incident) int {
		return slices.Compare(places[SlotOf(&a.Failure)], places[SlotOf(&b.Failure)])
	})
}

// noFailure sorts what is no failure behind all failures.
func noFailure(cause v1alpha1.Cause) int64 {
	if IsFailure(cause) {
		return 0
	}
	return 1
}

// explaining returns the place of the failure's cause in explains. A fatal exit of a program has the place of other exits: the reaction to
// an exit does not show which exit was first.
func explaining(f *v1alpha1.Failure) int64 {
	if IsOfProgram(f) && f.Cause == v1alpha1.CauseFatal {
		return int64(slices.Index(explains, v1alpha1.CauseRetryable))
	}
	return int64(slices.Index(explains, f.Cause))
}

// alike returns how many of the failures look the same as this one: programs that ended in the same second in the same way.
func alike(failures []Incident, one *v1alpha1.Failure) int32 {
	var n int32
	for i := range failures {
		f := &failures[i].Failure
		if IsOfProgram(f) && IsOfProgram(one) && f.Pod != one.Pod && f.Time.Unix() == one.Time.Unix() && namesLostPeer(f) == namesLostPeer(one) && f.Cause == one.Cause && exitCode(f) == exitCode(one) {
			n++
		}
	}
	return n
}

// generality orders exits by how well they show the first failure: 0 for a kill from outside, 1 for an exit code that only this rank has,
// 2 for code 1 if only this rank has it, 3 for codes that others have too.
func generality(f *v1alpha1.Failure, counts map[int32]int) int64 {
	switch {
	case isKill(f):
		return 0
	case counts[exitCode(f)] > 1:
		return 3
	case exitCode(f) == 1:
		return 2
	default:
		return 1
	}
}

func isKill(f *v1alpha1.Failure) bool { return killedBy(exitCode(f)) }

// killedBy reports whether the code stands for SIGKILL. Any other signal may be the program's own: the watchdogs of NCCL and JAX abort a rank
// that has lost a peer. Its code is 134 then, or 139 if it is process 1 of its container, which ABRT does not end.
func killedBy(code int32) bool { return code == 128+9 }

func exitCode(f *v1alpha1.Failure) int32 {
	return ptr.Deref(f.ExitCode, 0)
}

// Restarts returns the restarts for the failures, which are sorted by inOrder. One failure of scope Job restarts the whole job, once. One of
// scope Role restarts its role, once. Else each failed replica restarts by itself. Those that end together are one incident.
func Restarts(s *state.Snapshot, broken []Incident) []Incident {
	first := slices.IndexFunc(broken, func(incident Incident) bool { return incident.Scope == v1alpha1.ScopeJob })
	if first >= 0 {
		// a fatal exit of an independent replica before it is no consequence of this failure
		if i := slices.IndexFunc(broken[:first+1], IsFatal); i >= 0 {
			return broken[i : i+1]
		}
		i := first + trueCause(s, broken[first:])
		broken[i].Alike, broken[i].Likewise = alike(broken, &broken[i].Failure), endedAlike(&broken[i].Failure, broken)
		return broken[i : i+1]
	}
	var apart []Incident
	for n := range broken {
		incident := &broken[n]
		ofItsRole := slices.IndexFunc(broken, func(other Incident) bool { return other.Role == incident.Role && other.Scope == v1alpha1.ScopeRole })
		if ofItsRole < 0 || ofItsRole == n || IsFatal(*incident) {
			apart = append(apart, *incident)
		}
	}
	join(s, apart)
	return apart
}

// trueCause returns the index of the failure that caused the others: the first one, unless a loss explains it.
func trueCause(s *state.Snapshot, broken []Incident) int {
	first := broken[0].Time.Time
	loss := slices.IndexFunc(broken, func(incident Incident) bool {
		return incident.Scope == v1alpha1.ScopeJob && explainsFailure(s, &incident.Failure, first)
	})
	return max(loss, 0)
}

// MayBeFollower reports whether a rank may exit like this because it lost a peer.
func MayBeFollower(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && !isKill(f) && (f.Cause == v1alpha1.CauseRetryable || f.Cause == v1alpha1.CauseFatal)
}

// IsOfRank reports whether the program of a rank has ended by itself.
func IsOfRank(f *v1alpha1.Failure) bool { return IsOfProgram(f) && state.IsNeeded(f.Role) }
