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

// stalled rules because a job that runs and makes no progress hangs, and its user wants it restarted then.
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

// whyStalled says for how long the job has made no progress, if that is too long; else it is empty.
func whyStalled(s *state.Snapshot) string {
	if deadline := stallDeadline(s); deadline.IsZero() || s.Now.Before(deadline) {
		return ""
	}
	return stallMessage(s)
}

// stallDeadline returns when the job will have made no progress for too long, unless it renews its Lease; zero if it need not.
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

// stallMessage says for how long the job has made no progress.
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

// countsAsStuck reports whether the restart is one more without progress, unless a newer step comes: the whole job restarts, and the
// training itself is to blame. A loss or a request says nothing about the training, and a replica that is replaced alone does not set
// the others back.
func countsAsStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	return s.Job.Spec.Progress != nil && s.HighestStep() > 0 && incident.Charged && incident.Scope == v1alpha1.ScopeJob
}

// isStuck reports whether the job has been restarted too often without progress to be restarted once more.
func isStuck(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	limit := noProgressLimit(s)
	return limit > 0 && countsAsStuck(s, incident) && s.RecordedStep() > 0 && restartsWithoutProgress(s) >= limit
}

func noProgressLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.NoProgressLimit, v1alpha1.DefaultNoProgressLimit)
}

// undisturbedSince returns since when the job runs with no replica of it replaced; zero if it does not run.
func undisturbedSince(s *state.Snapshot) time.Time {
	since := state.RunningSince(s.Job)
	if since.IsZero() {
		return since
	}
	for role, m := range s.Memory {
		for index := range m.NextStarts {
			since = state.Latest(since, s.NextStart(state.Slot{Role: role, Index: index}))
		}
	}
	return since
}
