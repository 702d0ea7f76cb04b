package failure

import (
	"regexp"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// followsWithin is how much later than its followers the rank that failed first may seem to have ended: Python takes its time to end, and
// Kubernetes gives times in whole seconds.
const followsWithin = 2 * time.Second

// lostPeer matches the last words of a rank whose peer is gone: what Gloo, NCCL, c10d, JAX, gRPC, Python and the kernel print about a broken
// connection.
var lostPeer = regexp.MustCompile(`(?i)(closed|reset|aborted) by (the )?(remote )?(peer|host)|broken ?pipe|connection ?(was )?(likely )?` +
	`(refused|reset|closed|aborted|lost)|\bEOF(Error)?\b|end of file|(timed|time)[ -]?out|remote process exit|no route to host|failed to connect|` +
	`got 0 bytes|socket closed|another task died`)

// notYetMet matches the words about a lost connection that a rank also prints at its start, until its peers listen.
var notYetMet = regexp.MustCompile(`(?i)refused|failed to connect`)

// lossOfPeer orders failures by what their last words show of a lost connection: 0 for none, 1 for one that the rank may have met at its
// start, 2 for one that broke.
func lossOfPeer(f *v1alpha1.Failure) int64 {
	if !namesLostPeer(f) {
		return 0
	}
	all := lostPeer.FindAllString(f.Message, -1)
	if notYetMet.MatchString(all[len(all)-1]) {
		return 1
	}
	return 2
}

// namesLostPeer reports whether the program's last words speak of a lost connection: then another rank left before it. A program that was
// killed has no last words.
func namesLostPeer(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && !isKill(f) && lostPeer.MatchString(f.Message)
}

func followed(p *state.Pod) bool {
	return !killedBy(p.Exit.Code) && lostPeer.MatchString(state.KeepEnd(p.Exit.Message))
}

// beganAt returns the second by which failures are put in order. A rank that speaks of a lost connection followed another one, although it
// may seem to have ended before it.
func beganAt(f *v1alpha1.Failure) int64 {
	if namesLostPeer(f) {
		return f.Time.Add(followsWithin).Unix()
	}
	return f.Time.Unix()
}

// EndedAlike reports whether the rank's program ended like the failed one, at about the same time. Either may have been first, and the
// log of the other may show it.
func EndedAlike(f *v1alpha1.Failure, p *state.Pod) bool {
	return IsOfRank(f) && p.Exit != nil && p.Exit.Main && p.Slot != SlotOf(f) && state.IsNeeded(p.Slot.Role) && p.Life.Attempt == int(f.Attempt) &&
		p.Exit.Code == *f.ExitCode && p.Exit.Time.Sub(f.Time.Time).Abs() <= followsWithin
}

// endedAlike returns the replicas that broke as the failure did, at about the same time.
func endedAlike(f *v1alpha1.Failure, broken []Incident) []state.Slot {
	var list []state.Slot
	for i := range broken {
		if o := &broken[i].Failure; IsOfRank(f) && IsOfRank(o) && f.Container+o.Container == "" && SlotOf(o) != SlotOf(f) &&
			exitCode(o) == exitCode(f) && o.Time.Sub(f.Time.Time).Abs() <= followsWithin {
			list = append(list, SlotOf(o))
		}
	}
	return list
}

// isFirstByWords reports whether the incident's failure speaks of a lost connection, and the pod of something else.
func isFirstByWords(incident *v1alpha1.Incident, p *state.Pod) bool {
	return namesLostPeer(&incident.Failure) && !wasToldToEnd(p) && p.Exit.Message != "" && !followed(p)
}

// isTrueExit reports whether the pod failed by itself and the failure that the incident names followed it. Its exit came earlier, or is one
// that followers do not have.
//
//   - A rank whose words speak of a lost connection followed another one, unless it ended long before the incident.
//   - A follower that lost its peer exits within the same second. The kernel may take a second to end a process that ran out of memory.
//   - After a request to end, a pod exits with any code, and the clocks of nodes differ. Its exit then counts only if no program ends like
//     that by itself, or if other pods with such a request ended otherwise.
func isTrueExit(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod, cause v1alpha1.Cause) bool {
	if p.Exit == nil {
		return false
	}
	ended := p.Exit.Time.Truncate(time.Second)
	if followed(p) && !namesLostPeer(&incident.Failure) {
		return ended.Add(followsWithin).Before(incident.Time.Time) && !wasToldToEnd(p)
	}
	follows := incident.Cause == v1alpha1.CauseRetryable && !isKill(&incident.Failure)
	inSameSecond := ended.Equal(incident.Time.Truncate(time.Second))
	switch {
	case p.Exit.Reason == outOfMemory:
		return follows && !ended.After(incident.Time.Add(time.Second))
	case isFirstByWords(incident, p):
		return follows && !ended.After(incident.Time.Add(followsWithin))
	case inSameSecond:
		return follows && (killedBy(p.Exit.Code) || hasOwnCode(s, incident, p, cause))
	default:
		return ended.Before(incident.Time.Time) && !wasToldToEnd(p)
	}
}

// hasOwnCode reports whether the pod's exit is of the incident's kind and has a code that no follower has, while the incident's code is one
// of followers.
func hasOwnCode(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod, cause v1alpha1.Cause) bool {
	isExit := cause == incident.Cause || cause == v1alpha1.CauseFatal
	return isExit && exitCode(&incident.Failure) == 1 && isOneOfAKind(s, p)
}

// isOneOfAKind reports whether the pod ended with a code that only it had in that second, which is evidence of the first failure.
// Followers end with code 1, or by a signal. A deleted pod counts only if another deleted pod of the attempt ended in the same second
// with another code: then the code is not the answer to the deletion.
func isOneOfAKind(s *state.Snapshot, p *state.Pod) bool {
	if slices.Contains([]int32{1, 128 + 2, 128 + 9, 128 + 15}, p.Exit.Code) {
		return false
	}
	isOwn := !wasToldToEnd(p)
	for i := range s.Pods {
		other := &s.Pods[i]
		if other.UID == p.UID || other.Exit == nil || other.Exit.Time.Unix() != p.Exit.Time.Unix() {
			continue
		}
		if other.Exit.Code == p.Exit.Code {
			return false
		}
		isOwn = isOwn || wasToldToEnd(other) && other.Life.Attempt == p.Life.Attempt
	}
	return isOwn
}
