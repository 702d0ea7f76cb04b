package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// strandedAfter is how long a replica may fit nowhere in the domain of the other replicas.
const strandedAfter = 30 * time.Second

// stranded rules because a replica must be in one domain with others that already have nodes, and fits nowhere there. The
// scheduler moves no pod that has a node, so the job would wait for ever beside a domain with room for all of it. New pods and a
// new group let the scheduler choose again. A job that already runs continues without the replica instead.
func stranded(s *state.Snapshot) (*Ruling, time.Time) {
	if !state.RequiresDomain(&s.Job.Spec) || s.Is(v1alpha1.ConditionRunning) || s.IsSuspended() {
		return nil, time.Time{}
	}
	for r := range s.Replicas() {
		if !r.FitsNowhere() || !state.InDomain(&s.Job.Spec, r.Slot.Role) || !isBoundByOthers(s, r) {
			continue
		}
		if deadline := r.Pod.Waiting.Time.Add(strandedAfter); s.Now.Before(deadline) {
			return nil, deadline
		}
		message := fmt.Sprintf("no node in the domain of the other replicas had room for %v: %s", strandedAfter, state.Quote(r.Pod.Waiting.Message))
		return restartForTime(s, failure.At(s, r, v1alpha1.CauseInfrastructure, v1alpha1.ReasonDomainFull, message)), time.Time{}
	}
	return nil, time.Time{}
}

// isBoundByOthers reports whether another replica of the domain got its node before this pod was created. It continued in its pod
// when the attempt began, was not replaced since, or runs in an older pod, as this pod was recreated in its life.
func isBoundByOthers(s *state.Snapshot, r *state.Replica) bool {
	return s.Any(func(other *state.Replica) bool {
		if !other.HasNode() || !other.NeedsPod() || !state.InDomain(&s.Job.Spec, other.Slot.Role) {
			return false
		}
		isKept := other.Pod.Name != state.PodName(s.Job.Name, other.Slot, other.Life)
		ranBefore := !other.Pod.Began.IsZero() && other.Pod.Created.Before(r.Pod.Created)
		return isKept || ranBefore || other.Life.Before(r.Life)
	})
}
