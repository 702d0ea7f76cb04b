package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// requested rules because a user requests a restart of the job or of one replica. Failures come first: their restart may be the
// requested one, and a request must not hide a failure. The request costs no budget, counts nothing against the training, and
// recovery.rules do not apply to it. Its back-off begins with a second, so that a user cannot restart a job as fast as the API
// server allows.
func requested(s *state.Snapshot) (*Ruling, time.Time) {
	request := s.RestartRequest()
	if request == nil || request.Replica != nil && !canRestart(s, request.Replica) {
		return nil, time.Time{}
	}
	incident := requestedIncident(s, request)
	if incident.Scope == v1alpha1.ScopeJob {
		if held, until := awaitCheckpoint(s, stop{reason: v1alpha1.ReasonRestartRequested, why: "a restart was requested"}); held != nil {
			return held, until
		}
	}
	ruling := restart(s, []failure.Incident{incident})
	return &ruling, time.Time{}
}

// canRestart reports whether the replica has a pod to restart. The request waits for a pod that is not created yet, and a life that ends
// otherwise answers it.
func canRestart(s *state.Snapshot, r *state.Replica) bool {
	return !s.Is(v1alpha1.ConditionSuspended) && (r.State == state.Pending || r.State == state.Starting || r.State == state.Running)
}

// requestedIncident returns the restart of the whole job, or of the replica with all replicas that cannot continue without it.
func requestedIncident(s *state.Snapshot, request *state.Request) failure.Incident {
	leader := state.Leader(&s.Job.Spec)
	f, scope := v1alpha1.Failure{
		Role: leader.Role, Index: int32(leader.Index), Attempt: s.Job.Status.Attempt,
		Cause: v1alpha1.CauseRequested, Reason: v1alpha1.ReasonRestartRequested, Message: request.Reason, Time: metav1.NewTime(s.Now),
	}, v1alpha1.ScopeJob
	if r := request.Replica; r != nil {
		f = failure.At(s, r, v1alpha1.CauseRequested, v1alpha1.ReasonRestartRequested, request.Reason)
		scope = failure.ScopeOf(&s.Job.Spec, r.Slot)
	}
	return failure.NewIncident(s, f, scope, nil)
}
