package state

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// StallDeadline returns when the job stalls unless it reports; zero if it need not report.
func (s *Snapshot) StallDeadline() time.Time {
	since := s.undisturbedSince()
	if since.IsZero() || !ReportsByPage(&s.Job.Spec) {
		return time.Time{}
	}
	return Latest(since, s.Progress.Renewed).Add(StallAfter(s.Job.Spec.Progress))
}

// HasStalled reports whether the job has not reported in time, and the operator would know a report.
func (s *Snapshot) HasStalled() bool {
	deadline := s.StallDeadline()
	return !deadline.IsZero() && !s.Now.Before(deadline) && !s.Progress.Read.Before(deadline)
}

// Hangs reports whether the job is to restart because it has stalled. The stacks of its ranks show why.
func (s *Snapshot) Hangs() bool {
	return s.HasStalled() && s.Job.Spec.Progress.Action == v1alpha1.StallRestart
}

// undisturbedSince returns since when the reporting replica has run with everything that it needs. It returns zero if the job or
// that replica does not run, if the replica has finished, or while its kubelet starts its process again. It also returns zero if its pod was
// created before progress.port was set: such a process cannot report.
func (s *Snapshot) undisturbedSince() time.Time {
	since, reporter := s.RunningSince(), s.Reporter()
	if since.IsZero() || reporter == nil || reporter.State != Running || reporter.Pod.Page.Port == 0 || reporter.Pod.MainSucceeded || reporter.Pod.Between {
		return time.Time{}
	}
	since = Latest(since, s.Progress.Began)
	for _, i := range s.Job.Status.Incidents { // one hang is one restart, also if the others train on
		if i.Reason == v1alpha1.ReasonProgressStalled {
			since = Latest(since, i.RestartTime.Time)
		}
	}
	for role, m := range s.Memory {
		for index := range m.NextStarts {
			if slot := (Slot{Role: role, Index: index}); isNeededToReport(&s.Job.Spec, slot) {
				since = Latest(since, s.NextStart(slot))
			}
		}
	}
	return since
}

// isNeededToReport reports whether the reporting replica makes no steps while the slot has no process. That holds for its own
// slot, for parameter servers, and for the ranks of a collective. Workers of an asynchronous job come and go, and so do
// evaluators and custom roles.
func isNeededToReport(spec *v1alpha1.TrainingJobSpec, slot Slot) bool {
	return slot == Leader(spec) || slot.Role == v1alpha1.PS || IsCollective(spec) && IsRank(slot.Role)
}
