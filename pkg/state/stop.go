package state

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// NewCheckpointRequest returns the request to save a checkpoint, for that reason, until the deadline at the latest.
func (s *Snapshot) NewCheckpointRequest(reason string, deadline time.Time) *v1alpha1.CheckpointRequest {
	return &v1alpha1.CheckpointRequest{
		ID: fmt.Sprintf("%d-%d", s.Job.Status.Attempt, s.Now.Unix()), Reason: reason,
		Time: metav1.NewTime(s.Now.Truncate(time.Second)), DeadlineTime: metav1.NewTime(deadline),
	}
}

// StopText returns a request to stop as the ranks read it; empty for none.
func StopText(r *v1alpha1.CheckpointRequest) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", r.ID, r.Reason, r.DeadlineTime.UTC().Format(time.RFC3339))
}

// HasAnswered reports whether the ranks have saved a checkpoint for the request.
func (s *Snapshot) HasAnswered(r *v1alpha1.CheckpointRequest) bool {
	return r != nil && s.Progress.SavedFor == r.ID
}
