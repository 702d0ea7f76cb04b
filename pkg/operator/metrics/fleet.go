package metrics

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
)

// counts are gauges as they are added up: by family, and by the values of its labels.
type counts struct {
	of    map[key]float64
	order []key
}

// key is a family and the values of its labels: no family that is counted has more than two.
type key struct {
	family        *Family
	first, second string
}

// cell returns the key of a series, which is there from now on.
func (c *counts) cell(family *Family, labels []string) key {
	k := key{family: family, first: labels[0]}
	if len(labels) > 1 {
		k.second = labels[1]
	}
	if _, known := c.of[k]; !known {
		c.of[k] = 0
		c.order = append(c.order, k)
	}
	return k
}

func (c *counts) add(family *Family, n float64, labels ...string) { c.of[c.cell(family, labels)] += n }

func (c *counts) atLeast(family *Family, value float64, labels ...string) {
	k := c.cell(family, labels)
	c.of[k] = max(c.of[k], value)
}

func (c *counts) observations() []Observation {
	list := make([]Observation, 0, len(c.order))
	for _, k := range c.order {
		list = append(list, k.family.with(c.of[k], []string{k.first, k.second}[:len(k.family.Labels)]...))
	}
	return list
}

// Fleet returns what all jobs together are like now, in one walk over them. broken are the nodes that are broken by their own status, with
// the reason.
func Fleet(jobs []v1alpha1.TrainingJob, broken map[string]string, now time.Time) []Observation {
	c := &counts{of: map[key]float64{}}
	avoiding := map[key]map[string]bool{}
	for i := range jobs {
		job := &jobs[i]
		c.add(Jobs, 1, string(job.Spec.Framework), string(job.Status.Phase))
		c.underWay(job, now)
		if job.Status.CompletionTime == nil {
			c.troubles(job, now)
		}
		for _, node := range job.Status.AvoidedNodes {
			k := key{AvoidedNodes, kindOf(node.Reason), node.Name}
			if avoiding[k] == nil {
				avoiding[k] = map[string]bool{}
			}
			avoiding[k][job.Namespace] = true
			if why := broken[node.Name]; why != "" {
				c.atLeast(BrokenNodes, 1, node.Name, why)
			}
		}
	}
	for k, namespaces := range avoiding {
		c.add(AvoidedNodes, float64(len(namespaces)), k.first, k.second)
	}
	return c.observations()
}

// kindOf returns whether the node itself or a program caused the avoidance.
func kindOf(reason string) string {
	if failure.ReasonOf(reason).IsOnNode {
		return "fault"
	}
	return "crash"
}

// underWay counts what a job takes up, and what it waits for if it does not run.
func (c *counts) underWay(job *v1alpha1.TrainingJob, now time.Time) {
	status, framework := &job.Status, string(job.Spec.Framework)
	switch status.Phase {
	case v1alpha1.PhaseCreated, v1alpha1.PhasePending, v1alpha1.PhaseRestarting:
		c.add(Waiting, 1, framework, bounded(status.Reason))
	case v1alpha1.PhaseRunning:
		if p := status.Progress; p != nil && p.RenewTime != nil {
			c.atLeast(OldestProgress, between(p.RenewTime, &metav1.Time{Time: now}), framework)
		}
	default:
		return
	}
	c.add(Replicas, float64(status.Replicas), framework)
	c.add(ReadyReplicas, float64(status.ReadyReplicas), framework)
}

// troubles counts what is wrong with a job that has not finished.
func (c *counts) troubles(job *v1alpha1.TrainingJob, now time.Time) {
	if stalled := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		c.add(Stalled, 1, bounded(stalled.Reason))
	}
	if progressing := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionProgressing); progressing != nil && progressing.Status == metav1.ConditionFalse && progressing.Reason != v1alpha1.ReasonProgressUnread {
		c.add(NotProgressing, 1, string(job.Spec.Framework))
	}
	for _, b := range job.Status.Budgets {
		if budgetLeft(job, &b, now) == 0 {
			c.add(WithoutBudget, 1, budgetLabel(b.Name))
		}
	}
}

// known are the values of a label for reasons: why jobs wait, and why they need a person. Other reasons of kubelets become Other.
var known = []string{
	v1alpha1.ReasonJobCreated, v1alpha1.ReasonAllScheduled, v1alpha1.ReasonAwaitingScheduler, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting,
	v1alpha1.ReasonGangUnavailable, v1alpha1.ReasonReplicasStarting, v1alpha1.ReasonBackOff, v1alpha1.ReasonRestartHeld, v1alpha1.ReasonFormerPodsEnding,
	v1alpha1.ReasonReplicaFailed, v1alpha1.ReasonReplicaLost, v1alpha1.ReasonReplicaPreempted, v1alpha1.ReasonOutOfMemory, v1alpha1.ReasonHang,
	v1alpha1.ReasonRestartRequested, v1alpha1.ReasonStartupFailed, v1alpha1.ReasonStartupDeadline,
	v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonForbidden, v1alpha1.ReasonAdmissionUnavailable, v1alpha1.ReasonInvalid, v1alpha1.ReasonNameConflict,
	v1alpha1.ReasonPodNotEnding, "ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError",
}

func bounded(reason string) string {
	if slices.Contains(known, reason) {
		return reason
	}
	return "Other"
}

// budgetLabel returns the name of a budget that the operator knows.
func budgetLabel(name v1alpha1.BudgetName) string {
	if slices.Contains(v1alpha1.BudgetNames, name) {
		return string(name)
	}
	return "Other"
}
