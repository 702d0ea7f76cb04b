package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/stacks"
	"github.com/trainingjob/operator/pkg/state"
)

// blocksRunning returns the lowest-ranked replica that the job cannot run without; nil if the job runs. Every replica must run or
// have succeeded. An elastic job needs minReplicas workers, and the rendezvous host among them. Replicas that the training does
// not need do not count. A suspended collective runs none: when it resumes, a rank that has succeeded runs again.
func blocksRunning(s *state.Snapshot) *state.Replica {
	return firstRequiredWithout(s, func(r *state.Replica) bool {
		return isUp(r) && (!s.Is(v1alpha1.ConditionSuspended) || !state.IsMember(&s.Job.Spec, r.Slot.Role))
	})
}

// notRunning returns the lowest-ranked replica that does not run, even if the job can do without it; nil if all run.
func notRunning(s *state.Snapshot) *state.Replica {
	return s.First(func(r *state.Replica) bool { return !isUp(r) })
}

// firstRequiredWithout returns the lowest-ranked required replica for which has is false; nil if there is none. It skips as many
// workers as an elastic job can do without.
func firstRequiredWithout(s *state.Snapshot, has func(*state.Replica) bool) *state.Replica {
	canMiss := 0
	if elastic := s.Job.Spec.Elastic; elastic != nil {
		canMiss = int(s.Job.Spec.Replicas(v1alpha1.Worker) - elastic.MinReplicas)
	}
	for r := range s.Replicas() {
		switch {
		case has(r), !state.IsNeeded(r.Slot.Role):
		case r.Slot.Role == v1alpha1.Worker && canMiss > 0 && !isRendezvousHost(&s.Job.Spec, r.Slot):
			canMiss--
		default:
			return r
		}
	}
	return nil
}

// isRendezvousHost reports whether the ranks of an elastic collective cannot meet without the slot.
func isRendezvousHost(spec *v1alpha1.TrainingJobSpec, slot state.Slot) bool {
	return spec.Elastic != nil && state.IsCollective(spec) && state.HostsRendezvous(spec, slot)
}

// isUp reports whether the replica runs or has succeeded.
func isUp(r *state.Replica) bool {
	return r.State == state.Running || r.State == state.Succeeded
}

// stalled rules because a running job that makes no progress hangs, and its user wants a restart then.
func stalled(s *state.Snapshot) (*Ruling, time.Time) {
	deadline := s.StallDeadline()
	if deadline.IsZero() || s.Now.Before(deadline) {
		return nil, deadline
	}
	if !s.Hangs() {
		return nil, time.Time{}
	}
	if s.Now.Before(s.Stacks.Until) {
		return nil, s.Stacks.Until
	}
	failure := hang(s)
	failure.Time = metav1.NewTime(deadline.Add(-state.StallAfter(s.Job.Spec.Progress)))
	return restartForTime(s, failure), time.Time{}
}

// hang returns the failure of a job that hangs: of the rank for which the others wait, with its node, if stacks show one, else of the rank that
// does not report, and of no node.
func hang(s *state.Snapshot) v1alpha1.Failure {
	message := stallMessage(s)
	if where := stacks.Sentence(&s.Stacks); where != "" {
		message += ". " + where
	}
	suspect, replica := stacks.Suspect(s.Stacks.List), s.Replica(state.Leader(&s.Job.Spec))
	isShown := suspect != nil && s.InRange(suspect.Slot)
	if isShown {
		replica = s.Replica(suspect.Slot)
	}
	f := failure.At(s, replica, v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, message)
	if !isShown {
		f.Node = ""
	}
	return f
}

// whyStalled returns for how long the job has made no progress, if that is too long; else it is empty.
func whyStalled(s *state.Snapshot) string {
	if !s.HasStalled() {
		return ""
	}
	return stallMessage(s)
}

// whyUnread returns why the operator has not been able to read the page of the training for too long; else it is empty. The training may
// well make progress, so it does not hang.
func whyUnread(s *state.Snapshot) string {
	if s.Job.Spec.Progress != nil && !state.ReportsByPage(&s.Job.Spec) {
		return "spec.progress has no port, so no hang is detected: write progress.port"
	}
	if deadline := s.StallDeadline(); deadline.IsZero() || s.Now.Before(deadline) || s.HasStalled() {
		return ""
	}
	return s.Progress.Unread
}

// stallMessage returns how the reporting replica hangs, with its last step in this attempt.
func stallMessage(s *state.Snapshot) string {
	step, silent := "no step was reported", ""
	switch {
	case s.Progress.Step > 0:
		step = fmt.Sprintf("the last step was %d", s.Progress.Step)
	case s.HighestStep() > 0:
		step = "no step of this attempt was read"
	}
	if s.Progress.IsSilent {
		silent = fmt.Sprintf(", and its page did not answer within %v", state.ReadWithin)
	}
	return fmt.Sprintf("%s has not reported for %v%s; %s", state.Leader(&s.Job.Spec), state.StallAfter(s.Job.Spec.Progress), silent, step)
}

// restartsWithoutProgress returns the number of restarts that count as stuck since the last newer step. A job that was suspended may have been
// mended, and begins a new row.
func restartsWithoutProgress(s *state.Snapshot) int32 {
	if s.Is(v1alpha1.ConditionSuspended) || s.Progress.Step > s.RecordedStep() {
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
