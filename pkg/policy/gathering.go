package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// gatherFor is how long after the second in which a rank of a collective exited its peers may still be heard: all of them end
	// when one does, and kubelets look at their containers once a second. Of 57 recorded incidents on real kubelets the guilty rank
	// was heard after 1.15 s in the median, and after 2.08 s at most.
	gatherFor = 2500 * time.Millisecond
	// clocksDiffer is by how much a node's clock may be ahead.
	clocksDiffer = time.Second
)

// gathering returns the verdict to wait for what the other ranks say, if v acts on an exit that may be a follower's: then the wrong
// rank would be named, charged, and kept for its log. It does not wait for kills and running out of memory, which followers do not
// end with, nor once every rank has been heard.
func gathering(s *state.Snapshot, v *Verdict) (held *Verdict, until time.Time) {
	f := v.Failure
	if f == nil || !state.IsCollective(&s.Job.Spec) || !failure.MayBeFollower(f) || !hasSilentPeer(s) {
		return nil, time.Time{}
	}
	until = f.Time.Truncate(time.Second).Add(gatherFor)
	if !s.Now.Before(until) || f.Time.After(s.Now.Add(clocksDiffer)) {
		return nil, time.Time{}
	}
	return &Verdict{Ruling: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(f, fmt.Sprintf(
		"%s; before anything is done about it the other ranks have a moment to say how they ended.", failure.Describe(f)))}, until
}

// hasSilentPeer reports whether a rank still counts as running.
func hasSilentPeer(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		if isRank := r.Slot.Role.IsLeader() || r.Slot.Role == v1alpha1.Worker; isRank && r.Condition == state.Running {
			return true
		}
	}
	return false
}
