package policy

import (
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
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
	return reportsSteps(s) && incident.Charged && incident.Scope == v1alpha1.ScopeJob
}

func reportsSteps(s *state.Snapshot) bool {
	return state.ReportsByPage(&s.Job.Spec) && s.HighestStep() > 0
}

// isStuck reports whether too many restarts without progress forbid another one.
func isStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	limit := noProgressLimit(s)
	return limit > 0 && countsAsStuck(s, incident) && s.RecordedStep() > 0 && restartsWithoutProgress(s) >= limit
}

func noProgressLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.NoProgressLimit, v1alpha1.DefaultNoProgressLimit)
}

// repeats reports whether too many restarts in a row came after the same crash to begin another one. A job that does not report steps shows so that it
// makes no progress; of another one no newer step may have come since.
func repeats(s *state.Snapshot, restart *failure.Restart) bool {
	limit := sameCrashLimit(s)
	inRow, _ := budget.Backoff(s, restart)
	if limit == 0 || !restart.Charged || restart.Joins != nil || inRow <= limit || reportsSteps(s) && restartsWithoutProgress(s) < limit {
		return false
	}
	n := int32(0)
	for i := range s.Job.Status.Incidents {
		incident := &s.Job.Status.Incidents[i]
		switch {
		case !failure.Covers(incident, failure.SlotOf(&restart.Failure)):
		case !incident.Charged || !failure.IsSameCrash(&incident.Failure, &restart.Failure):
			return n >= limit
		default:
			n++
		}
	}
	return n >= limit
}

func sameCrashLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.SameCrashLimit, v1alpha1.DefaultSameCrashLimit)
}
