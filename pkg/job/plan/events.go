package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// eventConditions lists the conditions that emit an Event when they become True. restartEvent reports restarts.
var eventConditions = []struct{ condition, kind string }{
	{v1alpha1.ConditionRunning, corev1.EventTypeNormal},
	{v1alpha1.ConditionSuspended, corev1.EventTypeNormal},
	{v1alpha1.ConditionSucceeded, corev1.EventTypeNormal},
	{v1alpha1.ConditionFailed, corev1.EventTypeWarning},
	{v1alpha1.ConditionStalled, corev1.EventTypeWarning},
}

// statusEvents returns the Events of the next status: at most one for each transition. They are emitted once it is written.
func statusEvents(s *state.Snapshot, v *policy.Verdict, next *v1alpha1.TrainingJobStatus) []Event {
	was := &s.Job.Status
	var list []Event
	if !s.Is(v1alpha1.ConditionCreated) {
		list = append(list, envConflicts(s)...)
	}
	if len(v.Restarts) > 0 {
		list = append(list, restartEvent(v.Restarts))
	}
	list = append(list, checkpointEvents(s, v, next.CheckpointRequest)...)
	for _, a := range v.Amendments {
		list = append(list, normal(v1alpha1.EventIncidentExplained, string(a.Is.Cause), a.Message))
	}
	list = append(list, avoidedEvents(s, next)...)
	list = append(list, becameTrue(was, next)...)
	list = append(list, ceasedToBe(was, next)...)
	list = append(list, givenUp(v)...)
	for i := range list {
		list[i].Message = state.KeepBeginning(list[i].Message) // the API server refuses an Event with a longer note
	}
	return list
}

func becameTrue(was, next *v1alpha1.TrainingJobStatus) []Event {
	var list []Event
	for _, t := range eventConditions {
		failedToo := t.condition == v1alpha1.ConditionStalled && meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionFailed)
		if c := meta.FindStatusCondition(next.Conditions, t.condition); c != nil && c.Status == "True" && changed(was, next, t.condition) && !failedToo {
			list = append(list, Event{Type: t.kind, Reason: t.condition, Action: c.Reason, Message: c.Reason + ": " + c.Message})
		}
	}
	return list
}

// ceasedToBe returns an Event for each condition that has become False, and one for a job that resumes.
func ceasedToBe(was, next *v1alpha1.TrainingJobStatus) []Event {
	var list []Event
	if changed(was, next, v1alpha1.ConditionSuspended) && !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionSuspended) {
		list = append(list, normal(v1alpha1.EventResumed, v1alpha1.EventResumed, "The job is no longer suspended."))
	}
	if c, before := waiting(next), waiting(was); c != nil && (before == nil || before.Reason != c.Reason) {
		list = append(list, warn(c.Reason, v1alpha1.ConditionScheduled, c.Message))
	}
	const kind = v1alpha1.ConditionProgressing
	if c := meta.FindStatusCondition(next.Conditions, kind); c != nil && c.Status == "False" && !meta.IsStatusConditionFalse(was.Conditions, kind) {
		list = append(list, warn(c.Reason, kind, c.Message))
	}
	return list
}

func restartEvent(restarts []failure.Restart) Event {
	reason, message := v1alpha1.EventReplicaRestarting, restarts[0].Sentence
	if restarts[0].Scope == v1alpha1.ScopeJob {
		reason = v1alpha1.EventRestarting
	}
	var others []string
	for i := range restarts[1:] {
		others = append(others, failure.SlotOf(&restarts[1+i].Failure).String())
	}
	if len(others) > 0 {
		message += " Also restarting: " + nameFirst(others) + "."
	}
	if !failure.IsFailure(restarts[0].Cause) {
		return normal(reason, string(restarts[0].Scope), message)
	}
	return warn(reason, string(restarts[0].Scope), message)
}

// givenUp returns the Event of replicas that failed for good while the job goes on.
func givenUp(v *policy.Verdict) []Event {
	if len(v.GivenUp) == 0 {
		return nil
	}
	return []Event{warn(v1alpha1.EventReplicaGivenUp, string(v.GivenUp[0].Cause), v.GivenUp[0].Sentence)}
}

func envConflicts(s *state.Snapshot) []Event {
	var list []Event
	environment := framework.Environment(s.Job)
	for _, role := range s.Job.Spec.Roles() {
		slot := state.Slot{Role: role}
		if !s.InRange(slot) {
			continue
		}
		if names := build.EnvConflicts(s.Job, slot, environment(slot)); len(names) > 0 {
			list = append(list, warn(v1alpha1.EventEnvConflict, string(role), fmt.Sprintf(
				"the template of %s sets %s itself; its value is used instead of the operator's", role, strings.Join(names, ", "))))
		}
	}
	return list
}
