package policy

import (
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// restartsWithoutProgress returns the number of restarts that count as stuck since the last newer step. A job that was suspended may have been
// mended, and begins a new row.
func restartsWithoutProgress(s *state.Snapshot) int32 {
	if s.IsSuspended() || s.Progress.Step > s.RecordedStep() {
		return 0
	}
	return s.Job.Status.Memory.RestartsWithoutProgress
}

// countsAsStuck reports whether the restart counts as one without progress, unless a newer step comes. The whole job restarts,
// and the training itself is to blame. A loss or a request is no fault of the training, and a replica that is replaced alone does
// not set the others back.
func countsAsStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	return state.ReportsByPage(&s.Job.Spec) && s.HighestStep() > 0 && incident.Charged && incident.Scope == v1alpha1.ScopeJob
}

// isStuck reports whether too many restarts without progress forbid another one.
func isStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	limit := noProgressLimit(s)
	return limit > 0 && countsAsStuck(s, incident) && s.RecordedStep() > 0 && restartsWithoutProgress(s) >= limit
}

func noProgressLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.NoProgressLimit, v1alpha1.DefaultNoProgressLimit)
}
