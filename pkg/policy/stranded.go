package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// strandedAfter is how long a replica may fit nowhere in the domain that others hold.
const strandedAfter = 30 * time.Second

// stranded rules because a replica must be in one domain with others, which have their nodes since before its life, and fits nowhere there. The
// scheduler moves no pod that has a node, so the job would wait for ever beside a domain with room for all of it. With new pods and a new group
// the scheduler chooses again. A job that runs goes on without the replica instead.
func stranded(s *state.Snapshot) (*Ruling, time.Time) {
	if !state.RequiresDomain(&s.Job.Spec) || s.Is(v1alpha1.ConditionRunning) || s.Is(v1alpha1.ConditionSuspended) {
		return nil, time.Time{}
	}
	for r := range s.Replicas() {
		if !r.FitsNowhere() || !state.InDomain(&s.Job.Spec, r.Slot.Role) || !isBoundByOthers(s, r) {
			continue
		}
		if deadline := r.Pod.Waiting.Time.Add(strandedAfter); s.Now.Before(deadline) {
			return nil, deadline
		}
		message := fmt.Sprintf("it waited %v near the others: %s", strandedAfter, state.Quote(r.Pod.Waiting.Message))
		return restartForTime(s, failure.At(s, r, v1alpha1.CauseInfrastructure, v1alpha1.ReasonDomainFull, message)), time.Time{}
	}
	return nil, time.Time{}
}

// isBoundByOthers reports whether another replica of the domain has its node since before the pod of this one: it stayed in its pod when
// the attempt began, or was not replaced since, or ran already when this pod was created again in its life.
func isBoundByOthers(s *state.Snapshot, r *state.Replica) bool {
	for other := range s.Replicas() {
		if !other.HasNode() || !other.NeedsPod() || !state.InDomain(&s.Job.Spec, other.Slot.Role) {
			continue
		}
		isKept := other.Pod.Name != state.PodName(s.Job.Name, other.Slot, other.Life)
		ranBefore := !other.Pod.Began.IsZero() && other.Pod.Began.Before(r.Pod.Created)
		if isKept || ranBefore || other.Life.Before(r.Life) {
			return true
		}
	}
	return false
}
