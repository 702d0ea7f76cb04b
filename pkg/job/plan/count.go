package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// setRunningSeconds adds up how long the job ran when a run ends. A run that failed ended when the replica failed, not when the
// operator noticed.
func setRunningSeconds(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		return
	}
	until := s.Now
	if v.Failure != nil && v.Kind != policy.Suspend {
		until = state.Earliest(s.Now, v.Failure.Time.Time) // a node's clock may be ahead
	}
	next.RunningSeconds = s.Job.Status.RunningSeconds + int64(state.PresentRun(&s.Job.Status, until).Seconds())
}

// setLostSeconds adds up the time that the job lost since the last addition. The status of then shows what the job waited for.
func setLostSeconds(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	was, now := &s.Job.Status, s.Now.Truncate(time.Second)
	since := s.Job.CreationTimestamp.Time
	if was.Memory.CountedTime != nil {
		since = was.Memory.CountedTime.Time
	}
	next.Memory.CountedTime = &metav1.Time{Time: now}
	passed := int64(max(0, now.Sub(since)).Seconds())
	lost := &next.LostSeconds
	switch {
	case meta.IsStatusConditionTrue(was.Conditions, v1alpha1.ConditionQueued):
		lost.Queue += passed
	case was.StartTime == nil || s.IsSuspended():
	case s.Is(v1alpha1.ConditionRunning):
		if was.Memory.RedoStep > 0 {
			lost.Redone += passed
		}
		if v.Failure != nil && v.Kind != policy.Suspend && !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
			lost.Detection += int64(max(0, state.PresentRun(was, now)-state.PresentRun(was, v.Failure.Time.Time)).Seconds()) // a node's clock may be ahead
		}
	case isStopping(was):
		lost.Restart += passed
	case meta.IsStatusConditionFalse(was.Conditions, v1alpha1.ConditionScheduled):
		lost.Nodes += passed
	default:
		lost.Starting += passed
	}
}

// isStopping reports whether pods from before a restart are still ending, or the next pods may not be created yet.
func isStopping(status *v1alpha1.TrainingJobStatus) bool {
	restarting := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRestarting)
	running := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if restarting == nil || restarting.Status != metav1.ConditionTrue || running == nil {
		return false
	}
	return running.Reason == restarting.Reason || running.Reason == v1alpha1.ReasonBackOff || running.Reason == v1alpha1.ReasonFormerPodsEnding
}

// setRedoStep records the reached step at a whole-job restart, and clears it when the next attempt has reached that step again.
func setRedoStep(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	since := state.TrueSince(&s.Job.Status, v1alpha1.ConditionRunning)
	switch {
	case !state.ReportsByPage(&s.Job.Spec): // no report would show that the step is reached again
		next.Memory.RedoStep = 0
	case next.Attempt > s.Job.Status.Attempt:
		next.Memory.RedoStep = s.HighestStep()
	case !since.IsZero() && s.Progress.Renewed.After(since) && s.Progress.Step >= next.Memory.RedoStep:
		next.Memory.RedoStep = 0
	}
}

// countReplicas sets the replica statuses, with the present numbers of pods and the recorded counters, and their sums.
func countReplicas(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	counted, scopes := map[v1alpha1.Role]*v1alpha1.ReplicaStatus{}, failure.Scopes(&s.Job.Spec)
	for role := range s.Memory {
		counted[role] = &v1alpha1.ReplicaStatus{
			Restarts:     s.Job.Status.ReplicaStatuses[role].Restarts,
			RestartScope: scopes[role],
			Selector:     build.Selector(s.Job, role),
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if status := counted[p.Slot.Role]; status != nil && s.MayAct(p) {
			status.Active++
		}
	}
	for r := range s.Replicas() {
		status := counted[r.Slot.Role]
		if r.Pod != nil && r.Pod.Ready && r.Pod.Deleted.IsZero() && r.State != state.Lost {
			status.Ready++
		}
		if r.Pod != nil && (r.IsBroken() || r.Pod.Phase == corev1.PodFailed) {
			status.Failed++
		}
	}
	next.Replicas, next.ReadyReplicas, next.ReplicaStatuses = int32(state.Total(&s.Job.Spec)), 0, map[v1alpha1.Role]v1alpha1.ReplicaStatus{}
	for role, status := range counted {
		next.ReplicaStatuses[role] = *status
		next.ReadyReplicas += status.Ready
	}
}
