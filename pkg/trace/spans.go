package trace

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/metrics"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// Spans returns the spans that are over with the plan's status, which is made from the job's: each once.
func Spans(job *v1alpha1.TrainingJob, p *plan.Plan) []Span {
	c, was, is := cutter{job}, &job.Status, &p.Status
	var list []Span
	list = append(list, c.queued(was, is)...)
	list = append(list, c.running(was, is)...)
	list = append(list, c.scheduled(was, is)...)
	list = append(list, c.started(was, is)...)
	for _, r := range metrics.Recoveries(job, p) {
		list = append(list, c.recovered(&r)...)
	}
	if was.CompletionTime == nil && is.CompletionTime != nil {
		list = append(list, c.finished(is))
	}
	for i := range list {
		list[i].Attributes = append(c.of(), list[i].Attributes...)
	}
	return list
}

// became reports whether a condition has become true, or ceased to be.
func became(was, is *v1alpha1.TrainingJobStatus, kind string, value bool) bool {
	return meta.IsStatusConditionTrue(was.Conditions, kind) != value && meta.IsStatusConditionTrue(is.Conditions, kind) == value
}

// since returns when the condition became what it is; zero if it is not there.
func since(status *v1alpha1.TrainingJobStatus, kind string) metav1.Time {
	if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

func (c cutter) queued(was, is *v1alpha1.TrainingJobStatus) []Span {
	if !became(was, is, v1alpha1.ConditionQueued, false) {
		return nil
	}
	span := c.span(Queued, is.Attempt, since(was, v1alpha1.ConditionQueued), since(is, v1alpha1.ConditionQueued))
	span.Attributes = append(span.Attributes, Attribute{"trainingjob.queue", state.QueueOf(c.job)})
	return []Span{span}
}

// running ends with the failure that ended it, not when that was noticed.
func (c cutter) running(was, is *v1alpha1.TrainingJobStatus) []Span {
	if !became(was, is, v1alpha1.ConditionRunning, false) {
		return nil
	}
	end := since(is, v1alpha1.ConditionRunning)
	if i := restartOf(is, was.Attempt); i != nil && is.Attempt > was.Attempt {
		if i.Time.Before(&end) { // the clock of the node may be ahead
			end = i.Time
		}
	} else if is.CompletionTime != nil {
		end = *is.CompletionTime
	}
	return []Span{c.span(Running, was.Attempt, since(was, v1alpha1.ConditionRunning), end)}
}

// scheduled ends when every replica's pod has a node.
func (c cutter) scheduled(was, is *v1alpha1.TrainingJobStatus) []Span {
	if !became(was, is, v1alpha1.ConditionScheduled, true) || is.StartTime == nil {
		return nil
	}
	begin := beginOf(is)
	if lost := since(was, v1alpha1.ConditionScheduled); begin.Before(&lost) { // a pod has lost its place again
		begin = lost
	}
	return []Span{c.partOf(is, c.span(Scheduling, is.Attempt, begin, since(is, v1alpha1.ConditionScheduled)))}
}

// started ends when all replicas run.
func (c cutter) started(was, is *v1alpha1.TrainingJobStatus) []Span {
	if !became(was, is, v1alpha1.ConditionRunning, true) || !meta.IsStatusConditionTrue(is.Conditions, v1alpha1.ConditionScheduled) {
		return nil
	}
	return []Span{c.partOf(is, c.span(Starting, is.Attempt, since(is, v1alpha1.ConditionScheduled), since(is, v1alpha1.ConditionRunning)))}
}

// beginOf returns when the present attempt began: with a restart, with the job, or with its resumption.
func beginOf(is *v1alpha1.TrainingJobStatus) metav1.Time {
	begin := *is.StartTime
	if i := restartOf(is, is.Attempt-1); i != nil {
		begin = i.RestartTime
	}
	if resumed := since(is, v1alpha1.ConditionSuspended); begin.Before(&resumed) {
		begin = resumed
	}
	return begin
}

// restartOf returns the incident that ended an attempt, or nil.
func restartOf(status *v1alpha1.TrainingJobStatus, attempt int32) *v1alpha1.Incident {
	at := slices.IndexFunc(status.Incidents, func(i v1alpha1.Incident) bool { return i.Scope == v1alpha1.ScopeJob && i.Attempt == attempt })
	if at < 0 {
		return nil
	}
	return &status.Incidents[at]
}

// partOf makes the span a part of the recovery that the attempt is, if it is one that nobody suspended.
func (c cutter) partOf(is *v1alpha1.TrainingJobStatus, span Span) Span {
	i := restartOf(is, is.Attempt-1)
	suspended := since(is, v1alpha1.ConditionSuspended)
	if i != nil && !i.RestartTime.Before(&suspended) {
		span.Parent = c.idOf(i)
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

// recovered returns the span of a recovery, and that of the detection.
func (c cutter) recovered(r *metrics.Recovery) []Span {
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

// facts returns what is known of an incident. The names of pods and nodes are those of OpenTelemetry's conventions, by which a backend
// finds their logs and metrics. What a program said of itself is left out: it may hold anything.
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
func (c cutter) finished(is *v1alpha1.TrainingJobStatus) Span {
	span := c.span(Job, 0, c.job.CreationTimestamp, *is.CompletionTime)
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
