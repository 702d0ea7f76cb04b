package failure

import (
	"regexp"
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

// namesLostPeer reports whether the program's last words speak of a lost connection: then another rank left before it. A program that was
// killed has no last words.
func namesLostPeer(f *v1alpha1.Failure) bool {
	return IsOfRank(f) && !isKill(f) && lostPeer.MatchString(f.Message)
}

// followed reports whether the last words of the pod's program speak of a lost connection.
func followed(p *state.Pod) bool {
	return !killedBy(p.Exit.Code) && lostPeer.MatchString(p.Exit.Message)
}

// isFirstByWords reports whether the incident's failure speaks of a lost connection, and the pod of something else.
func isFirstByWords(incident *v1alpha1.Incident, p *state.Pod) bool {
	return namesLostPeer(&incident.Failure) && !wasToldToEnd(p) && p.Exit.Message != "" && !followed(p)
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
	return IsOfRank(f) && p.Exit != nil && p.Exit.Main && p.Slot != SlotOf(f) && p.Slot.Role != v1alpha1.Evaluator && p.Life.Attempt == int(f.Attempt) &&
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
