package trace

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/history"
	"github.com/trainingjob/operator/pkg/state"
)

// Spans returns the spans of a job's history, each once.
func Spans(h *history.History) []Span {
	c := cutter{h.Job}
	var list []Span
	for i := range h.List {
		list = append(list, c.spans(h, &h.List[i])...)
	}
	for i := range list {
		list[i].Attributes = append(c.of(), list[i].Attributes...)
	}
	return list
}

// spans returns the spans that end with a transition.
func (c cutter) spans(h *history.History, t *history.Transition) []Span {
	switch t.Kind {
	case history.Queued:
		span := c.span(Queued, t.Attempt, t.Begin, t.End)
		span.Attributes = append(span.Attributes, Attribute{"trainingjob.queue", state.QueueOf(c.job)})
		return []Span{span}
	case history.Running:
		return []Span{c.span(Running, t.Attempt, t.Begin, t.End)}
	case history.Scheduled:
		return []Span{c.partOf(h, t, c.span(Scheduling, t.Attempt, t.Begin, t.End))}
	case history.Runs:
		if t.Begin.IsZero() {
			return nil
		}
		return []Span{c.partOf(h, t, c.span(Starting, t.Attempt, t.Begin, t.End))}
	case history.Recovered:
		return c.recovered(t)
	case history.Finished:
		return []Span{c.finished(h.Is, t)}
	default:
		return nil
	}
}

// partOf makes the span a part of the recovery that began the attempt, unless the job was suspended since.
func (c cutter) partOf(h *history.History, t *history.Transition, span Span) Span {
	var suspended metav1.Time
	if condition := meta.FindStatusCondition(h.Is.Conditions, v1alpha1.ConditionSuspended); condition != nil {
		suspended = condition.LastTransitionTime
	}
	if t.Incident != nil && !t.Incident.RestartTime.Before(&suspended) {
		span.Parent = c.idOf(t.Incident)
	}
	return span
}

// idOf returns the id of the span of a recovery, which its parts have to know before it is over.
func (c cutter) idOf(i *v1alpha1.Incident) [8]byte {
	return c.id(i.Attempt, slotOf(i), Recovering, i.Time, i.RestartTime)
}

func slotOf(i *v1alpha1.Incident) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(i.Role)), i.Index)
}

// recovered returns the span of a recovery and the span of its detection.
func (c cutter) recovered(r *history.Transition) []Span {
	i := r.Incident
	span := c.span(Recovering, i.Attempt, r.Begin, r.End)
	span.ID = c.idOf(i)
	span.Attributes = append(span.Attributes, facts(i)...)
	list := []Span{span}
	if i.Scope == v1alpha1.ScopeJob {
		detecting := c.span(Detecting, i.Attempt, r.Begin, i.RestartTime)
		detecting.Parent = span.ID
		list = append(list, detecting)
	}
	return list
}

// facts returns the attributes of an incident. The names of pods and nodes follow OpenTelemetry's conventions, so that a backend finds
// their logs and metrics. A program's own words are left out: they may contain anything.
func facts(i *v1alpha1.Incident) []Attribute {
	list := []Attribute{
		{"trainingjob.slot", slotOf(i)}, {"trainingjob.cause", string(i.Cause)}, {"trainingjob.reason", i.Reason}, {"trainingjob.scope", string(i.Scope)},
		{"trainingjob.charged", i.Charged}, {"trainingjob.followers", int64(i.Followers)}, {"k8s.pod.name", i.Pod}, {"k8s.node.name", i.Node},
	}
	if i.ExitCode != nil {
		list = append(list, Attribute{"trainingjob.exit_code", int64(*i.ExitCode)})
	}
	return slices.DeleteFunc(list, func(a Attribute) bool { return a.Value == "" })
}

// finished returns the span of the whole job.
func (c cutter) finished(is *v1alpha1.TrainingJobStatus, t *history.Transition) Span {
	span := c.span(Job, 0, t.Begin, t.End)
	span.ID, span.Parent = c.root(), [8]byte{}
	span.Attributes = []Attribute{
		{"trainingjob.attempts", int64(is.Attempt) + 1}, {"trainingjob.restarts", int64(is.Restarts)}, {"trainingjob.phase", string(is.Phase)},
	}
	if ratio, ok := state.RunningTimeRatio(is, is.CompletionTime.Time); ok {
		span.Attributes = append(span.Attributes, Attribute{"trainingjob.running_time_ratio", fmt.Sprintf("%.3f", ratio)})
	}
	if is.Phase == v1alpha1.PhaseFailed {
		span.Error = is.Reason
	}
	return span
}
