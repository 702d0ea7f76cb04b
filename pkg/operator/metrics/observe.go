package metrics

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Observe returns what a job's history adds to counters and histograms. Count it once the status is written.
func Observe(h *history.History) []Observation {
	t := transition{h, h.Was, h.Is, string(h.Job.Spec.Framework)}
	var list []Observation
	for i := range h.List {
		list = append(list, t.of(&h.List[i])...)
	}
	for _, observe := range []func() []Observation{t.takenUp, t.faults, t.startup, t.lost} {
		list = append(list, observe()...)
	}
	return list
}

// transition is a history whose statuses and framework have short names.
type transition struct {
	*history.History
	was, is   *v1alpha1.TrainingJobStatus
	framework string
}

// of returns the observations of one transition.
func (t transition) of(happened *history.Transition) []Observation {
	switch happened.Kind {
	case history.Restarted:
		return []Observation{t.restart(happened.Incident), t.decision(happened.Incident)}
	case history.Queued:
		return []Observation{QueueWait.with(between(&happened.Begin, &happened.End), t.framework)}
	case history.Scheduled:
		return []Observation{GangWait.with(between(&happened.Begin, &happened.End), gangLabel(t.Job))}
	case history.Recovered:
		return recovered(happened)
	case history.Finished:
		return t.finished()
	default:
		return nil
	}
}

func (t transition) restart(i *v1alpha1.Incident) Observation {
	return Restarts.with(1, t.framework, roleLabel(i.Role), string(i.Cause), string(i.Scope), t.strategy(i))
}

// decision measures the time from the failure to the decision to restart. If the replica's life began later, it measures from there: its
// node may have failed before.
func (t transition) decision(incident *v1alpha1.Incident) Observation {
	begin, isLost := t.BeginOf(incident), incident.Reason == v1alpha1.ReasonNodeLost || incident.Reason == v1alpha1.ReasonNodeSilent
	return Decision.with(between(&begin, &incident.RestartTime), strconv.FormatBool(isLost))
}

// recovered measures how long a restart took, and its parts.
func recovered(r *history.Transition) []Observation {
	incident := r.Incident
	list := []Observation{RecoveryTime.with(between(&r.Begin, &r.End), string(incident.Cause), string(incident.Scope))}
	if incident.Scope == v1alpha1.ScopeJob {
		list = append(list, RecoveryPart.with(between(&r.Begin, &incident.RestartTime), "detection"))
	}
	if r.Placed != nil {
		list = append(list, RecoveryPart.with(between(&incident.RestartTime, r.Placed), "placement"), RecoveryPart.with(between(r.Placed, &r.End), "start"))
	}
	return list
}

// takenUp measures how long a new job had no status.
func (t transition) takenUp() []Observation {
	created := meta.FindStatusCondition(t.is.Conditions, v1alpha1.ConditionCreated)
	if created == nil || meta.FindStatusCondition(t.was.Conditions, v1alpha1.ConditionCreated) != nil {
		return nil
	}
	return []Observation{TakenUp.with(between(&t.Job.CreationTimestamp, &created.LastTransitionTime))}
}

// strategy returns how the incident continues: the mildest reaction to it.
func (t transition) strategy(i *v1alpha1.Incident) string {
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

// faults counts the nodes that the job avoids from now on, or for longer, because they failed themselves.
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

func gangLabel(job *v1alpha1.TrainingJob) string {
	if job.Spec.Scheduling == nil || job.Spec.Scheduling.Gang == "" {
		return "Default"
	}
	return string(job.Spec.Scheduling.Gang)
}

// lost returns the growth of the time that the job did not train.
func (t transition) lost() []Observation {
	during := "start"
	if meta.IsStatusConditionTrue(t.was.Conditions, v1alpha1.ConditionRestarting) || t.is.Attempt > t.was.Attempt {
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

// between returns the seconds from one time to another, 0 if either is missing or they are the wrong way round: clocks differ.
func between(from, to *metav1.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return max(0, to.Sub(from.Time).Truncate(time.Millisecond).Seconds())
}
