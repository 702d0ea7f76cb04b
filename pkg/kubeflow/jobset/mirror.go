package jobset

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// mirror makes one status, whose conditions come from one part.
type mirror struct {
	*part
	set   *JobSet
	parts []*part
	now   time.Time
	next  Status
}

// Mirror returns the status of the JobSet that its TrainingJobs make true.
func (s *JobSet) Mirror(now time.Time, parts ...*part) Status {
	m := &mirror{part: deciding(parts), set: s, parts: parts, now: now, next: s.Status.copied()}
	if s.IsFinished() { // clients wait for the last counts
		return m.next
	}
	restarts := int32(0)
	m.next.RestartsCountTowardsMax = 0
	for _, p := range parts {
		if p.child != nil {
			restarts += p.child.Status.Attempt
			m.next.RestartsCountTowardsMax += p.child.Status.ChargedRestarts
		}
	}
	m.next.Restarts = max(m.next.Restarts, restarts)
	if s.IsSuspended() {
		m.put(suspended, true, reasonSuspended, wordsSuspended)
		m.put(restarting, false, reasonSetHeld, wordsSuspended)
	} else {
		m.put(suspended, false, reasonResumed, wordsResumed)
		m.goOn()
	}
	m.count()
	return m.next
}

// Refuse returns the status of a JobSet that cannot be served.
func (s *JobSet) Refuse(why string, now time.Time) Status {
	m := &mirror{now: now, next: s.Status.copied()}
	m.end(failed, reasonRefused, why)
	return m.next
}

// Stall returns the status of a JobSet that has no TrainingJob until a user acts.
func (s *JobSet) Stall(reason, why string, now time.Time) Status {
	m := &mirror{now: now, next: s.Status}
	m.next.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	m.put(stalled, true, reason, why)
	return m.next
}

func (m *mirror) put(kind string, isTrue bool, reason, message string) {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	m.next.set(m.now, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

func (m *mirror) end(kind, reason, message string) {
	m.put(kind, true, reason, message)
	m.next.TerminalState = kind
}

// goOn mirrors a JobSet that is not suspended. The conditions of a suspension that is over do not count.
func (m *mirror) goOn() {
	switch is := m.has; {
	case is(v1alpha1.ConditionSuspended) || m.child.Spec.IsSuspended():
		return
	case is(v1alpha1.ConditionSucceeded):
		m.end(completed, reasonCompleted, wordsCompleted)
		m.put(restarting, false, reasonSetDone, wordsCompleted)
	case is(v1alpha1.ConditionFailed):
		reason, words := m.why()
		m.end(failed, reason, m.told(words, v1alpha1.ConditionFailed))
		m.put(restarting, false, reasonSetFailed, wordsSetFailed)
	case is(v1alpha1.ConditionRestarting):
		m.put(restarting, true, reasonRestart, m.told(wordsRestart, v1alpha1.ConditionRestarting))
	case is(v1alpha1.ConditionRunning):
		m.put(restarting, false, reasonJobsReady, wordsJobsReady)
		if m.set.startsInOrder() {
			m.put(startupCompleted, true, reasonStarted, wordsStarted)
		}
	case m.set.startsInOrder():
		m.put(startupInProgress, true, reasonInOrder, wordsInOrder)
	}
}

// why returns JobSet's reason and words for the failure.
func (m *mirror) why() (reason, words string) {
	switch own := meta.FindStatusCondition(m.child.Status.Conditions, v1alpha1.ConditionFailed).Reason; {
	case m.set.Spec.FailurePolicy == nil:
		return reasonFailedJobs, wordsFailedJobs
	case own == v1alpha1.ReasonMaxRestartsExceeded || own == v1alpha1.ReasonNoProgress:
		return reasonMax, wordsMax
	default:
		return reasonFailRule, wordsFailRule
	}
}

// told returns JobSet's words with the Job that failed first, as JobSet writes them, and then what the TrainingJob has in that condition.
func (m *mirror) told(words, condition string) string {
	if failure := m.child.Status.LastFailure; failure != nil {
		words = fmt.Sprintf("%s (first failed job: %s-%s-%d)", words, m.set.Name, m.served.Roles[failure.Role], failure.Index/m.podsOfJob(m.served.Roles[failure.Role]))
	}
	return words + ": " + meta.FindStatusCondition(m.child.Status.Conditions, condition).Message
}

// podsOfJob returns the number of pods of a Job of the replicated job.
func (m *mirror) podsOfJob(replicated string) int32 {
	for i := range m.set.Spec.ReplicatedJobs {
		if job := &m.set.Spec.ReplicatedJobs[i]; job.Name == replicated {
			return max(1, job.pods())
		}
	}
	return 1
}

// count counts the Jobs that each replicated job would have. At the end of the JobSet no Job is active: those that ran are deleted.
func (m *mirror) count() {
	m.next.ReplicatedJobsStatus = nil
	for i := range m.set.Spec.ReplicatedJobs {
		m.next.ReplicatedJobsStatus = append(m.next.ReplicatedJobsStatus, m.counted(&m.set.Spec.ReplicatedJobs[i]))
	}
}

// counted counts Jobs of several pods by their pods: pods that lack belong to as many Jobs as they can.
func (m *mirror) counted(job *ReplicatedJob) ReplicatedJobStatus {
	own, all, jobs, pods := ReplicatedJobStatus{Name: job.Name}, job.size(), int32(job.jobs()), job.pods()
	whole := func(n int32) int32 { return max(0, jobs-(all-min(n, all))) }
	for _, p := range m.parts {
		for role, replicated := range p.served.Roles {
			if replicated != job.Name || p.child == nil {
				continue
			}
			counts, failure := p.child.Status.ReplicaStatuses[role], p.child.Status.LastFailure
			own.Succeeded = whole(counts.Succeeded)
			switch isFinished := m.next.is(completed) || m.next.is(failed); {
			case p.has(v1alpha1.ConditionFailed) && m.next.is(failed) && failure != nil && failure.Role == role:
				own.Failed, own.Succeeded = 1, min(own.Succeeded, jobs-1)
			case m.next.is(completed) && p.child.Spec.SuccessPolicy == v1alpha1.SuccessLeader && role.IsLeader():
				own.Succeeded = 1
			case isFinished:
			case m.set.IsSuspended():
				own.Suspended, own.Active = jobs-own.Succeeded, min(jobs-own.Succeeded, (counts.Active+pods-1)/pods)
			default:
				own.Ready = whole(counts.Succeeded+counts.Ready) - own.Succeeded
				own.Active = min(jobs-own.Succeeded, (counts.Active+pods-1)/pods)
			}
		}
	}
	return own
}
