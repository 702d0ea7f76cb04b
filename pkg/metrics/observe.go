package metrics

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// transition is a status beside the one before it.
type transition struct {
	job       *v1alpha1.TrainingJob
	was, is   *v1alpha1.TrainingJobStatus
	framework string
}

func newTransition(job *v1alpha1.TrainingJob, p *plan.Plan) transition {
	return transition{job: job, was: &job.Status, is: &p.Status, framework: string(job.Spec.Framework)}
}

// Observe returns what the plan's status, once it is written, says that the job's status before does not.
func Observe(job *v1alpha1.TrainingJob, p *plan.Plan) []Observation {
	t := newTransition(job, p)
	var list []Observation
	for i := range p.Restarts {
		list = append(list, t.restart(&p.Restarts[i].Incident), t.decision(&p.Restarts[i].Incident))
	}
	for _, observe := range []func() []Observation{t.takenUp, t.faults, t.finished, t.startup, t.waits, t.lost, t.recovered} {
		list = append(list, observe()...)
	}
	return list
}

func (t transition) restart(i *v1alpha1.Incident) Observation {
	return Restarts.with(1, t.framework, roleLabel(i.Role), string(i.Cause), string(i.Scope), t.rung(i))
}

// decision measures how long it took to decide on the restart, from the failure or, if that was later, from the beginning of the replica's life:
// its node may have failed before.
func (t transition) decision(incident *v1alpha1.Incident) Observation {
	begin, isLost := t.begin(incident), incident.Reason == v1alpha1.ReasonNodeLost
	return Decision.with(between(&begin, &incident.RestartTime), strconv.FormatBool(isLost))
}

// takenUp measures how long a new job had no status.
func (t transition) takenUp() []Observation {
	created := condition(t.is, v1alpha1.ConditionCreated)
	if created == nil || condition(t.was, v1alpha1.ConditionCreated) != nil {
		return nil
	}
	return []Observation{TakenUp.with(between(&t.job.CreationTimestamp, &created.LastTransitionTime))}
}

// rung says how the incident goes on: the mildest of what it does.
func (t transition) rung(i *v1alpha1.Incident) string {
	isAvoided := func(n v1alpha1.AvoidedNode) bool {
		return n.Name == i.Node && n.ExpirationTime.After(i.RestartTime.Time)
	}
	switch {
	case i.Scope == v1alpha1.ScopeJob && t.is.Memory.GroupAttempt != nil:
		return "in_place"
	case i.Node != "" && slices.ContainsFunc(t.is.AvoidedNodes, isAvoided):
		return "elsewhere"
	default:
		return "recreate"
	}
}

// roleLabel returns the role if the operator knows it: a Custom job names others as it likes.
func roleLabel(role v1alpha1.Role) string {
	if slices.Contains(v1alpha1.Roles, role) {
		return string(role)
	}
	return "Other"
}

// faults tells of nodes that the job avoids from now on, or for longer, because they broke themselves.
func (t transition) faults() []Observation {
	var list []Observation
	for _, n := range t.is.AvoidedNodes {
		isOld := func(o v1alpha1.AvoidedNode) bool {
			return o.Name == n.Name && o.Reason == n.Reason && !o.ExpirationTime.Before(&n.ExpirationTime)
		}
		if failure.ReasonOf(n.Reason).IsOnNode && !slices.ContainsFunc(t.was.AvoidedNodes, isOld) {
			list = append(list, NodeFaults.with(1, n.Reason))
		}
	}
	return list
}

func (t transition) finished() []Observation {
	if t.was.CompletionTime != nil || t.is.CompletionTime == nil {
		return nil
	}
	var list []Observation
	for _, result := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionFailed} {
		c := meta.FindStatusCondition(t.is.Conditions, result)
		if c == nil || c.Status != metav1.ConditionTrue {
			continue
		}
		list = append(list, Finished.with(1, t.framework, result, c.Reason))
		if ratio, ok := state.RunningTimeRatio(t.is, t.is.CompletionTime.Time); ok {
			list = append(list, RatioAtEnd.with(ratio, t.framework, result))
		}
	}
	return list
}

func (t transition) startup() []Observation {
	if t.was.RunningTime != nil || t.is.RunningTime == nil {
		return nil
	}
	return []Observation{Startup.with(between(t.is.StartTime, t.is.RunningTime), t.framework)}
}

// waits tells how long the job waited for its queue and for nodes, when the wait is over. A later attempt waits for its nodes as part
// of a recovery.
func (t transition) waits() []Observation {
	var list []Observation
	if queued := condition(t.was, v1alpha1.ConditionQueued); isTrue(queued) {
		if now := condition(t.is, v1alpha1.ConditionQueued); now != nil && !isTrue(now) {
			list = append(list, QueueWait.with(between(&queued.LastTransitionTime, &now.LastTransitionTime), t.framework))
		}
	}
	scheduled := condition(t.is, v1alpha1.ConditionScheduled)
	if t.is.Attempt > 0 || t.is.StartTime == nil || !isTrue(scheduled) || isTrue(condition(t.was, v1alpha1.ConditionScheduled)) {
		return list
	}
	since := t.is.StartTime
	for _, c := range []*metav1.Condition{condition(t.is, v1alpha1.ConditionSuspended), condition(t.was, v1alpha1.ConditionScheduled)} {
		if c != nil && since.Before(&c.LastTransitionTime) { // it was resumed, or a pod lost its place again
			since = &c.LastTransitionTime
		}
	}
	return append(list, GangWait.with(between(since, &scheduled.LastTransitionTime), gangLabel(t.job)))
}

func gangLabel(job *v1alpha1.TrainingJob) string {
	if job.Spec.Scheduling == nil || job.Spec.Scheduling.Gang == "" {
		return "Default"
	}
	return string(job.Spec.Scheduling.Gang)
}

// lost tells how much the status has added to the time that the job did not train.
func (t transition) lost() []Observation {
	during := "start"
	if isTrue(condition(t.was, v1alpha1.ConditionRestarting)) || t.is.Attempt > t.was.Attempt {
		during = "restart"
	}
	var list []Observation
	was := lostByCause(&t.was.LostSeconds)
	for i, is := range lostByCause(&t.is.LostSeconds) {
		if more := is.seconds - was[i].seconds; more > 0 {
			list = append(list, Lost.with(float64(more), t.framework, is.cause, duringOf(is.cause, during)))
		}
	}
	return list
}

// duringOf returns when the time was lost, for causes that say it themselves.
func duringOf(cause, during string) string {
	switch cause {
	case "queue":
		return "start"
	case "detection", "redone":
		return "restart"
	default:
		return during
	}
}

// lostTime is what a job lost to one cause.
type lostTime struct {
	cause   string
	seconds int64
}

func lostByCause(lost *v1alpha1.LostSeconds) []lostTime {
	return []lostTime{
		{"queue", lost.Queue}, {"nodes", lost.Nodes}, {"starting", lost.Starting}, {"detection", lost.Detection}, {"restart", lost.Restart}, {"redone", lost.Redone},
	}
}

func condition(status *v1alpha1.TrainingJobStatus, kind string) *metav1.Condition {
	return meta.FindStatusCondition(status.Conditions, kind)
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// between returns the seconds from one time to another, 0 if either is missing or they are the wrong way round: clocks differ.
func between(from, to *metav1.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return max(0, to.Sub(from.Time).Truncate(time.Millisecond).Seconds())
}
