package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Explanation describes the state of a job and its causes.
type Explanation struct {
	// Sentence is the answer.
	Sentence string
	// Facts are what it rests on, the most telling first.
	Facts []string
	// Output has the last lines of the failed program, without the one that explains its end.
	Output []string
	// Next is what to do now, best first.
	Next []string
}

// String returns the explanation as text of several lines.
func (e Explanation) String() string {
	text := e.Sentence + "\n"
	if len(e.Facts) > 0 {
		text += "\nFacts:\n  - " + strings.Join(e.Facts, "\n  - ") + "\n"
	}
	if len(e.Output) > 0 {
		text += "\nThe end of its output:\n    " + strings.Join(e.Output, "\n    ") + "\n"
	}
	if len(e.Next) > 0 {
		text += "\nNext:\n  - " + strings.Join(e.Next, "\n  - ") + "\n"
	}
	return text
}

// Why explains why the job is as it is. It returns an error if the status cannot be read. Tenants, nodes and add-ons choose many of the words,
// so each line is printable.
func Why(v *View) (Explanation, error) {
	s, err := v.Snapshot()
	if err != nil {
		return Explanation{}, err
	}
	facts := slices.Concat(hangFacts(v), failureFacts(v), kubeletFacts(v), replicaFacts(s), waitFacts(v, s), budgetFacts(v), nodeFacts(v), eventFacts(v))
	return Explanation{Sentence: state.Printable(sentence(v)), Facts: printable(facts), Output: output(v.Job.Status.LastFailure), Next: printable(next(v, s))}, nil
}

func printable(lines []string) []string {
	for i := range lines {
		lines[i] = state.Printable(lines[i])
	}
	return lines
}

// phrases say how a job in a phase is.
var phrases = map[v1alpha1.Phase]string{
	v1alpha1.PhaseCreated:    "has no pods yet",
	v1alpha1.PhaseQueued:     "waits in its queue",
	v1alpha1.PhasePending:    "does not run yet",
	v1alpha1.PhaseRunning:    "runs",
	v1alpha1.PhaseRestarting: "restarts",
	v1alpha1.PhaseSuspended:  "is suspended",
	v1alpha1.PhaseSucceeded:  "has succeeded",
	v1alpha1.PhaseFailed:     "has failed",
}

// sentence returns the answer: how the job is, and the operator's own words for why.
func sentence(v *View) string {
	job := v.Job
	switch {
	case job.DeletionTimestamp != nil:
		return fmt.Sprintf("%s is being deleted since %s; %d of its pods are left.", v.Name(), v.clock(job.DeletionTimestamp.Time), len(v.Pods))
	case job.Spec.IsManagedElsewhere() && !job.Spec.IsDispatched():
		return fmt.Sprintf("%s is run by %s (spec.managedBy), not by this operator.", v.Name(), job.Spec.ManagedBy)
	case job.Status.Phase == "":
		return fmt.Sprintf("%s was created %s ago, and the operator has not looked at it yet.", v.Name(), v.ago(job.CreationTimestamp.Time))
	}
	how := cmp.Or(phrases[job.Status.Phase], "is "+string(job.Status.Phase))
	if cluster := state.ClusterOf(job); cluster != "" {
		how += " in cluster " + cluster
	}
	switch stalled := condition(job, v1alpha1.ConditionProgressing); {
	case stalled == nil || stalled.Status != "False":
	case stalled.Reason == v1alpha1.ReasonProgressUnread: // the training may well go on
		return fmt.Sprintf("%s %s, and its progress is not known: %s", v.Name(), how, stalled.Message)
	default:
		return fmt.Sprintf("%s %s but makes no progress: %s", v.Name(), how, stalled.Message)
	}
	text := fmt.Sprintf("%s %s (%s)", v.Name(), how, job.Status.Reason)
	if job.Status.Phase == v1alpha1.PhaseRestarting {
		text = fmt.Sprintf("%s %s as attempt %d (%s)", v.Name(), how, job.Status.Attempt, job.Status.Reason)
	}
	if job.Status.Message == "" {
		return text + "."
	}
	if f := job.Status.LastFailure; f != nil && job.Status.Phase == v1alpha1.PhaseFailed && v.Line(f) != failure.Line(f) {
		return text + ": " + failure.WithoutMessage(job.Status.Message) + " In its log: " + v.Line(f)
	}
	return text + ": " + job.Status.Message
}

// WhatBroke returns a failure as a clause: "worker-3 on gpu-7 was killed (exit code 137, OOMKilled)".
func WhatBroke(f *v1alpha1.Failure) string {
	if f.Cause == v1alpha1.CauseRequested {
		return failure.Describe(f)
	}
	text := failure.SlotOf(f).String()
	if f.Node != "" {
		text += " on " + f.Node
	}
	var details []string
	switch code := failure.ExitCode(f); {
	case state.IsSignal(code):
		details = append(details, fmt.Sprintf("exit code %d, signal %d", code, code-128))
	case f.ExitCode != nil:
		details = append(details, fmt.Sprintf("exit code %d", code))
	}
	if f.Container != "" {
		details = append(details, "container "+f.Container)
	}
	if f.Reason != "" {
		details = append(details, f.Reason)
	}
	return text + " " + broke[f.Cause] + " (" + strings.Join(append(details, "cause "+string(f.Cause)), ", ") + ")"
}

var broke = map[v1alpha1.Cause]string{
	v1alpha1.CauseInfrastructure: "was lost",
	v1alpha1.CausePreempted:      "was preempted",
	v1alpha1.CauseOOM:            "ran out of memory",
	v1alpha1.CauseRetryable:      "failed",
	v1alpha1.CauseFatal:          "failed for good",
	v1alpha1.CauseHang:           "stopped making progress",
	v1alpha1.CauseStartup:        "did not start",
	v1alpha1.CauseCompleted:      "was done and runs again",
}
