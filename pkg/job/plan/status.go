package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// nextStatus returns the status after the verdict: what was observed, counted and is true now. A part that is made from another one comes after it:
//
//	countReplicas  counts of replicas         for beginLives and writeMemory
//	setTimes       when the job started       from the conditions as read
//	setProgress    the latest report          for beginLives: a resumption forgets the step
//	beginLives     the attempt and the lives  for setFirstPod, answerRequest, setRestartMethod, setConditions and setRedoStep
//	setConditions  the conditions             for setRunningSeconds, phaseOf, why, readyOf and setLostSeconds
//	writeMemory    the lives as text          for beginsLives, and so for the number of lives
//
// setLostSeconds and setRenewal come last, because they depend on whether anything else changes.
func nextStatus(s *state.Snapshot, v *policy.Verdict) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	setShape(s, &next, v)
	next.ObservedGeneration = s.Job.Generation
	countReplicas(s, &next)
	memory := s.Memory.Clone()
	if v.Kind != policy.Final {
		remember(s, memory, v)
		setTimes(s, &next, v)
		setProgress(s, &next)
		beginLives(s, &next, memory, v)
		setFirstPod(s, &next, v)
		answerRequest(s, &next, memory, v)
		setRestartMethod(s, &next, v)
		next.CheckpointRequest = v.Asked
		take(&next, &v.Accounts)
		setConditions(s, &next, v)
		setRunningSeconds(s, &next, v)
		setRedoStep(s, &next)
	}
	writeMemory(&next, memory)
	// a missing replica may have had a pod that this process never saw: its next pod gets a number that no earlier process has
	mayHaveMissed := s.FirstLook && s.Is(v1alpha1.ConditionCreated) && !s.IsFinished() && s.Any(func(r *state.Replica) bool { return r.State == state.Missing })
	resumes := s.Job.Status.StartTime != nil && leavesSuspension(s, v)
	if resumes || beginsLives(&s.Job.Status, &next) || mayHaveMissed {
		next.Memory.Lives = state.NextLives(&s.Job.Status, next.Attempt)
	}
	if resumes && state.ServedJob(s.Job) != nil {
		next.Memory.ResumeNumber = state.LifeNumber(&next)
	}
	next.Phase = phaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	next.Ready = readyOf(&next)
	if v.Kind != policy.Final && !equality.Semantic.DeepEqual(&s.Job.Status, &next) { // it is written, so it shows all there is
		setLostSeconds(s, &next, v)
		setRenewal(s, &next)
	}
	return next
}

// take records the accounts of restarts.
func take(next *v1alpha1.TrainingJobStatus, a *policy.Accounts) {
	next.LastFailure, next.Incidents, next.AvoidedNodes, next.ChargedRestarts, next.Budgets = a.LastFailure, a.Incidents, a.AvoidedNodes, a.ChargedRestarts, a.Budgets
	next.Memory.Charges, next.Memory.RestartsWithoutProgress, next.Memory.NodeFailures = a.Charges, a.RestartsWithoutProgress, a.NodeFailures
}

// setShape records the part of the spec that only a suspended job may change, once no pods with another part are left. It waits
// while ranks save a checkpoint: they continue if the job resumes unchanged.
func setShape(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if next.Memory.Shape == "" || s.MayHaveChanged() && v.Asked == nil {
		next.Memory.Shape = state.Shape(&s.Job.Spec)
	}
}

// setRestartMethod records the method of the next whole-job restart when all pods of an attempt are created: the first time,
// after a suspension, and with each attempt. All pods of an attempt use one method, whatever the spec becomes.
func setRestartMethod(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if next.Memory.RestartMethod == "" || !isSameAttempt(s, next, v) {
		next.Memory.RestartMethod = state.MethodOf(&s.Job.Spec)
	}
}

// isSameAttempt reports whether the attempt goes on: neither a suspension nor a restart of the whole job ends its pods.
func isSameAttempt(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) bool {
	return v.Kind != policy.Suspend && !s.IsSuspended() && next.Attempt == s.Job.Status.Attempt
}

// answerRequest records a restart request as done: the job was only just submitted, is suspended or restarts, the named replica gets
// another life, its next life has yet to begin, or there is nothing to restart.
func answerRequest(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, v *policy.Verdict) {
	words, request := state.RequestOf(s.Job), s.RestartRequest()
	isVoid := words != "" && request == nil
	isReplaced := request != nil && request.Replica != nil &&
		memory[request.Replica.Slot.Role].Replacements[request.Replica.Slot.Index] != request.Replica.Life.Replacement
	if !s.Is(v1alpha1.ConditionCreated) || v.Kind == policy.Suspend || next.Attempt != s.Job.Status.Attempt || isVoid || isReplaced || v.Hastened != nil {
		next.Memory.RestartRequest = words
	}
	for _, r := range v.Hastened {
		if next.Attempt == s.Job.Status.Attempt && !policy.WaitsForRequest(s, r.Slot) {
			endBackOff(s, next, memory, r.Slot)
		}
	}
}

// endBackOff has the next life of the slot, and the attempt, begin now at the latest.
func endBackOff(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, slot state.Slot) {
	now := s.Now.Truncate(time.Second)
	if next.NextStartTime != nil && now.Before(next.NextStartTime.Time) {
		next.NextStartTime = &metav1.Time{Time: now}
	}
	if starts := memory[slot.Role].NextStarts; int64(starts[slot.Index]) > now.Unix() {
		starts[slot.Index] = int(now.Unix())
	}
}

// setFirstPod records when the first pod of the attempt was created, once. A job that resumes may still show pods from before.
func setFirstPod(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	next.Memory.FirstPodTime = nil
	if first, _ := s.FirstCreated(); isSameAttempt(s, next, v) && !first.IsZero() {
		next.Memory.FirstPodTime = &metav1.Time{Time: first.Truncate(time.Second)}
	}
}

// readyOf returns the column READY: "7/8", or "-" for a suspended or finished job, whose pods may still be ending.
func readyOf(next *v1alpha1.TrainingJobStatus) string {
	for _, condition := range []string{v1alpha1.ConditionSuspended, v1alpha1.ConditionFinished} {
		if meta.IsStatusConditionTrue(next.Conditions, condition) {
			return "-"
		}
	}
	return fmt.Sprintf("%d/%d", next.ReadyReplicas, next.Replicas)
}

// renewalEvery is how old the recorded renewal may get if nothing else changes in the status. A job renews far more often.
const renewalEvery = 5 * time.Minute

// setProgress records the latest report, if there is one. A job without a page has no report: its last one would only grow old.
func setProgress(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	if !state.ReportsByPage(&s.Job.Spec) {
		next.Progress, next.Memory.Report = nil, ""
		return
	}
	if s.Progress.Renewed.IsZero() {
		return
	}
	is := &v1alpha1.ProgressStatus{Step: s.HighestStep(), Checkpoint: state.KeepBeginning(s.Progress.Checkpoint), RenewTime: renewal(s), Metrics: s.Progress.Metrics}
	was := next.Progress
	switch {
	case is.Checkpoint == "":
	case was != nil && was.Checkpoint == is.Checkpoint && was.CheckpointTime != nil:
		is.CheckpointTime = was.CheckpointTime
	default:
		is.CheckpointTime = is.RenewTime
	}
	isOld := s.Now.Sub(s.Progress.Renewed) >= state.StallAfter(s.Job.Spec.Progress)/2 // a later process of the operator must not take it for a new one
	if was != nil && was.RenewTime != nil && is.RenewTime.Sub(was.RenewTime.Time) < renewalEvery && (!isOld || s.Progress.ID == next.Memory.Report) {
		is.RenewTime = was.RenewTime
	} else {
		next.Memory.Report = s.Progress.ID
	}
	next.Progress = is
}

// setRenewal records the time of the latest report. A report that is recorded keeps its time: else each write would make it newer.
func setRenewal(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	if next.Progress != nil && !s.Progress.Renewed.IsZero() && s.Progress.ID != next.Memory.Report {
		next.Progress.RenewTime, next.Memory.Report = renewal(s), s.Progress.ID
	}
}

func renewal(s *state.Snapshot) *metav1.Time {
	renewed := metav1.NewTime(s.Progress.Renewed.Truncate(time.Second))
	return &renewed
}

func setTimes(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if next.StartTime == nil && v.Kind != policy.Suspend {
		next.StartTime = &now
	}
	if s.IsSuspended() && v.Kind != policy.Suspend {
		next.SuspendedSeconds = int64(state.SuspendedFor(&s.Job.Status, s.Now).Seconds())
	}
	if v.Kind == policy.Succeed || v.Kind == policy.Fail {
		next.CompletionTime = &now
	}
}

func writeMemory(next *v1alpha1.TrainingJobStatus, memory state.Memory) {
	for role, m := range memory {
		status := next.ReplicaStatuses[role]
		status.Succeeded = int32(m.Succeeded.Len())
		next.ReplicaStatuses[role] = status
	}
	next.Memory.Roles = memory.Write()
}
