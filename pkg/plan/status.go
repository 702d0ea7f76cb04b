package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// nextStatus returns the status after the verdict: what was seen, what was counted, what is true now.
func nextStatus(s *state.Snapshot, v *policy.Verdict) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	keepShape(s, &next, v)
	next.ObservedGeneration = s.Job.Generation
	next.ReplicaStatuses = observe(s, v)
	countReady(s, &next)
	memory := s.Memory.Clone()
	if v.Kind != policy.Final {
		remember(s, memory, v)
		park(s, memory, v)
		keepTime(s, &next, v)
		keepProgress(s, &next)
		beginLives(s, &next, memory, v)
		answerRequest(s, &next, v)
		keepMethod(s, &next, v)
		next.CheckpointRequest = v.Asked
		keepAccounts(&next, &v.Accounts)
		setConditions(s, &next, v)
		keepRunningTime(s, &next, v)
		keepRedoStep(s, &next)
	}
	writeMemory(&next, memory)
	if beginsLives(&s.Job.Status, &next) || mayHaveMissed(s) {
		next.Memory.Lives = state.NextLives(&s.Job.Status, next.Attempt)
	}
	next.Phase = phaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	next.Ready = readyOf(&next)
	if !equality.Semantic.DeepEqual(&s.Job.Status, &next) {
		if v.Kind != policy.Final {
			keepLostTime(s, &next, v)
		}
		keepRenewal(s, &next, v)
	}
	return next
}

// keepShape records the fields that only a suspended job may change, once no pods with another shape remain. It waits while ranks save a
// checkpoint, because they continue if the user resumes the unchanged job.
func keepShape(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	mayHaveChanged := next.ObservedGeneration != s.Job.Generation || s.Job.Status.CheckpointRequest != nil
	if next.Memory.Shape == "" || mayHaveChanged && v.Asked == nil {
		next.Memory.Shape = state.Shape(&s.Job.Spec)
	}
}

// keepMethod records the method of the next whole-job restart when all pods of an attempt are new: with the first pods, after a
// suspension, and with each attempt. The pods of an attempt stay alike, even if the spec changes later.
func keepMethod(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if next.Memory.RestartMethod == "" || v.Kind == policy.Suspend || s.Is(v1alpha1.ConditionSuspended) || next.Attempt != s.Job.Status.Attempt {
		next.Memory.RestartMethod = state.MethodOf(&s.Job.Spec)
	}
}

// answerRequest records the text of a requested restart once it is done: the whole job restarts, or rests, or was only just submitted.
func answerRequest(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if isFirstRecord(s) || v.Kind == policy.Suspend || next.Attempt != s.Job.Status.Attempt {
		next.Memory.RestartRequest = state.RequestOf(s.Job)
	}
}

// countReady adds up over the roles how many replicas there should be and how many are ready.
func countReady(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	next.Replicas, next.ReadyReplicas = int32(state.Total(&s.Job.Spec)), 0
	for _, status := range next.ReplicaStatuses {
		next.ReadyReplicas += status.Ready
	}
}

// readyOf returns the column READY: "7/8", or "-" while the job is suspended and once it has finished. Pods that still end then say
// nothing about the job.
func readyOf(next *v1alpha1.TrainingJobStatus) string {
	for _, condition := range []string{v1alpha1.ConditionSuspended, v1alpha1.ConditionFinished} {
		if meta.IsStatusConditionTrue(next.Conditions, condition) {
			return "-"
		}
	}
	return fmt.Sprintf("%d/%d", next.ReadyReplicas, next.Replicas)
}

// renewalEvery is how old the renewal in a status may get that nothing else makes it worth to write: a job has many of them.
const renewalEvery = 5 * time.Minute

// keepProgress records the report in the Lease, if it is newer than the last one.
func keepProgress(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	if s.Progress.Renewed.IsZero() {
		return
	}
	is := &v1alpha1.ProgressStatus{Step: s.HighestStep(), Checkpoint: clip(s.Progress.Checkpoint), RenewTime: renewal(s)}
	was := next.Progress
	switch {
	case is.Checkpoint == "":
	case was != nil && was.Checkpoint == is.Checkpoint && was.CheckpointTime != nil:
		is.CheckpointTime = was.CheckpointTime
	default:
		is.CheckpointTime = is.RenewTime
	}
	if was != nil && was.RenewTime != nil && is.RenewTime.Sub(was.RenewTime.Time) < renewalEvery {
		is.RenewTime = was.RenewTime
	}
	next.Progress = is
}

// keepRenewal takes over when the Lease was last renewed into a status that is written anyway.
func keepRenewal(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if v.Kind != policy.Final && next.Progress != nil && !s.Progress.Renewed.IsZero() {
		next.Progress.RenewTime = renewal(s)
	}
}

func renewal(s *state.Snapshot) *metav1.Time {
	renewed := metav1.NewTime(s.Progress.Renewed.Truncate(time.Second))
	return &renewed
}

// keepTime sets the times that the verdict makes known.
func keepTime(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if next.StartTime == nil && v.Kind != policy.Suspend {
		next.StartTime = &now
	}
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionSuspended) && v.Kind != policy.Suspend {
		next.SuspendedSeconds = int64(state.SuspendedFor(&s.Job.Status, s.Now).Seconds())
	}
	if v.Kind == policy.Succeed || v.Kind == policy.Fail {
		next.CompletionTime = &now
	}
}

// keepAccounts takes over what the verdict has entered.
func keepAccounts(next *v1alpha1.TrainingJobStatus, accounts *policy.Accounts) {
	next.LastFailure, next.Incidents, next.AvoidedNodes = accounts.LastFailure, accounts.Incidents, accounts.AvoidedNodes
	next.ChargedRestarts, next.Budgets, next.Memory.Charges = accounts.ChargedRestarts, accounts.Budgets, accounts.Charges
	next.Memory.RestartsWithoutProgress = accounts.RestartsWithoutProgress
}

func writeMemory(next *v1alpha1.TrainingJobStatus, memory state.Memory) {
	for role, m := range memory {
		status := next.ReplicaStatuses[role]
		status.Succeeded, status.Parked = int32(m.Succeeded.Len()), int32(m.Parked.Len())
		next.ReplicaStatuses[role] = status
	}
	next.Memory.Roles = memory.Write()
}
