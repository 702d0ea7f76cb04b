package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// stalled rules because a running job that makes no progress hangs, and its user wants a restart then.
func stalled(s *state.Snapshot) (*Ruling, time.Time) {
	deadline := stallDeadline(s)
	if deadline.IsZero() || s.Now.Before(deadline) {
		return nil, deadline
	}
	if s.Job.Spec.Progress.Action != v1alpha1.StallRestart {
		return nil, time.Time{}
	}
	failure := failure.At(s, s.Replica(state.Leader(&s.Job.Spec)), v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, stallMessage(s))
	failure.Time = metav1.NewTime(deadline.Add(-stallAfter(s)))
	return restartForTime(s, failure), time.Time{}
}

// whyStalled returns for how long the job has made no progress, if that is too long; else it is empty.
func whyStalled(s *state.Snapshot) string {
	if deadline := stallDeadline(s); deadline.IsZero() || s.Now.Before(deadline) {
		return ""
	}
	return stallMessage(s)
}

// stallDeadline returns when the job stalls unless it renews its Lease; zero if it need not renew it.
func stallDeadline(s *state.Snapshot) time.Time {
	since := undisturbedSince(s)
	if s.Job.Spec.Progress == nil || since.IsZero() {
		return time.Time{}
	}
	if s.Progress.Renewed.After(since) {
		since = s.Progress.Renewed
	}
	return since.Add(stallAfter(s))
}

func stallMessage(s *state.Snapshot) string {
	step := "no step was reported"
	if highest := s.HighestStep(); highest > 0 {
		step = fmt.Sprintf("the last step was %d", highest)
	}
	return fmt.Sprintf("the Lease %s was not renewed for %v; %s", state.LeaseName(s.Job.Name), stallAfter(s), step)
}

func stallAfter(s *state.Snapshot) time.Duration {
	seconds := s.Job.Spec.Progress.StallAfterSeconds
	if seconds == 0 {
		seconds = v1alpha1.DefaultStallAfterSeconds
	}
	return time.Duration(seconds) * time.Second
}

// restartsWithoutProgress returns the number of restarts that count as stuck since the last newer step.
func restartsWithoutProgress(s *state.Snapshot) int32 {
	if s.Progress.Step > s.RecordedStep() {
		return 0
	}
	return s.Job.Status.Memory.RestartsWithoutProgress
}

// countsAsStuck reports whether the restart counts as one without progress, unless a newer step comes. The whole job restarts,
// and the training itself is to blame. A loss or a request is no fault of the training, and a replica that is replaced alone does
// not set the others back.
func countsAsStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	return s.Job.Spec.Progress != nil && s.HighestStep() > 0 && incident.Charged && incident.Scope == v1alpha1.ScopeJob
}

// isStuck reports whether too many restarts without progress forbid another one.
func isStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	limit := noProgressLimit(s)
	return limit > 0 && countsAsStuck(s, incident) && s.RecordedStep() > 0 && restartsWithoutProgress(s) >= limit
}

func noProgressLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.NoProgressLimit, v1alpha1.DefaultNoProgressLimit)
}

// undisturbedSince returns since when the reporting replica has run with everything that it needs. It returns zero if the job or
// that replica does not run, or if the replica has finished. It also returns zero if its pod was created before spec.progress was
// set: such a process has no Lease to renew.
func undisturbedSince(s *state.Snapshot) time.Time {
	since, reporter := state.RunningSince(s.Job), s.Reporter()
	if since.IsZero() || reporter == nil || reporter.State != state.Running || !reporter.Pod.Reports || reporter.Pod.MainSucceeded {
		return time.Time{}
	}
	since = state.Latest(since, reporter.Pod.Began)
	for role, m := range s.Memory {
		for index := range m.NextStarts {
			if slot := (state.Slot{Role: role, Index: index}); isNeededToReport(&s.Job.Spec, slot) {
				since = state.Latest(since, s.NextStart(slot))
			}
		}
	}
	return since
}

// isNeededToReport reports whether the reporting replica makes no steps while the slot has no process. That holds for its own
// slot, for parameter servers, and for the ranks of a collective. Workers of an asynchronous job come and go, and so do
// evaluators and custom roles.
func isNeededToReport(spec *v1alpha1.TrainingJobSpec, slot state.Slot) bool {
	return slot == state.Leader(spec) || slot.Role == v1alpha1.PS || state.IsCollective(spec) && state.IsRank(slot.Role)
}
