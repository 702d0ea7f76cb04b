package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// requested rules because a user requests a restart of the whole job. A failure comes first: its restart may be the requested one, and a
// request must not hide a failure. It costs no budget, shows nothing about the training, and recovery.rules do not apply. Its back-off
// begins with a second, so that a user cannot restart a job as fast as the API server allows.
func requested(s *state.Snapshot) (*Ruling, time.Time) {
	words := s.RestartRequest()
	if words == "" {
		return nil, time.Time{}
	}
	if held, until := askFirst(s, stop{reason: v1alpha1.ReasonRestartRequested, why: "a user requested a restart"}); held != nil {
		return held, until
	}
	leader := state.Leader(&s.Job.Spec)
	ruling := restart(s, []failure.Incident{{Incident: v1alpha1.Incident{
		Failure: v1alpha1.Failure{
			Role: leader.Role, Index: int32(leader.Index), Attempt: s.Job.Status.Attempt,
			Cause: v1alpha1.CauseRequested, Reason: v1alpha1.ReasonRestartRequested, Message: words, Time: metav1.NewTime(s.Now),
		},
		Scope: v1alpha1.ScopeJob, RestartTime: metav1.NewTime(s.Now.Truncate(time.Second)),
	}}})
	return &ruling, time.Time{}
}
