package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// requested rules because a user requests a restart of the job or of one replica. Failures come first: their restart may be the
// requested one, and a request must not hide a failure. The request costs no budget, counts nothing against the training, and
// recovery.rules do not apply to it. Its back-off begins with a second, so that a user cannot restart a job as fast as the API
// server allows.
func requested(s *state.Snapshot) (*Ruling, time.Time) {
	request := s.RestartRequest()
	if request == nil || hastened(s) != nil {
		return nil, time.Time{}
	}
	// a life that ends otherwise answers it
	canEnd := []state.State{state.Pending, state.Starting, state.Running, state.GivenUp}
	if r := request.Replica; r != nil && (s.IsSuspended() || !slices.Contains(canEnd, r.State)) {
		return nil, time.Time{}
	}
	restart := requestedRestart(s, request)
	if restart.Scope == v1alpha1.ScopeJob {
		if held, until := awaitCheckpoint(s, v1alpha1.ReasonRestartRequested, "a restart was requested"); held != nil {
			return held, until
		}
	}
	return rulingOn(s, []failure.Restart{restart}), time.Time{}
}

// hastened returns the replicas whose next lives answer a request: of all replicas that restart with the named one, or of all that the job waits for, no
// pod exists. A restart is under way, so the request begins no other one. It ends their back-off.
func hastened(s *state.Snapshot) []*state.Replica {
	request := s.RestartRequest()
	if request == nil {
		return nil
	}
	restart := requestedRestart(s, request)
	var waiting []*state.Replica
	for r := range s.Replicas() {
		switch {
		case !failure.Covers(&restart.Incident, r.Slot), !r.NeedsPod():
		case r.State != state.Missing:
			return nil
		default:
			waiting = append(waiting, r)
		}
	}
	return waiting
}

// WaitsForRequest reports whether an earlier request began the back-off of the slot. Another one does not end it: a program that requests
// restarts all the time must not restart the job all the time.
func WaitsForRequest(s *state.Snapshot, slot state.Slot) bool {
	incidents := s.Job.Status.Incidents
	latest := slices.IndexFunc(incidents, func(i v1alpha1.Incident) bool { return failure.Covers(&i, slot) })
	return latest >= 0 && incidents[latest].Cause == v1alpha1.CauseRequested
}

// requestedRestart returns the restart of the whole job, or of the replica with all replicas that cannot continue without it.
func requestedRestart(s *state.Snapshot, request *state.Request) failure.Restart {
	leader := state.Leader(&s.Job.Spec)
	r, scope, pod := &state.Replica{Slot: leader, Life: s.Life(leader)}, v1alpha1.ScopeJob, "" // a request for the whole job names no pod
	if named := request.Replica; named != nil {
		r, scope, pod = named, failure.ScopeOf(&s.Job.Spec, named.Slot), state.PodName(s.Job.Name, named.Slot, named.Life) // it may be gone
	}
	f := failure.At(s, r, v1alpha1.CauseRequested, v1alpha1.ReasonRestartRequested, request.Reason)
	f.Pod = pod
	return failure.NewRestart(s, f, scope, nil)
}
