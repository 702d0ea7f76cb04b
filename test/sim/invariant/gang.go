package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// checkGang: a pod of a gang joins the group of its own attempt, which is there before it; any other pod joins none. Who does not
// lead, or comes late, cannot know whether the group is still there.
func (c *Checker) checkGang(h *history, pod *corev1.Pod, d *operator.Decision, life state.Life, strict bool) {
	name := server.GroupOf(pod)
	if !isGang(d.From) {
		if name != "" {
			c.violate("17 gang: %s joins group %s, the job is no gang", pod.Name, name)
		}
		return
	}
	if slot, _, _ := parsePodName(d.From.Name, pod.Name); !isOfGang(&d.From.Spec, slot.Role) {
		if name != "" {
			c.violate("17 gang: %s joins group %s, and the gang does not need it there", pod.Name, name)
		}
		c.checkAfterGang(pod.Name, d)
		return
	}
	attempt := groupAttempt(d.From)
	if want := groupName(d.From, attempt); name != want {
		c.violate("17 gang: %s joins group %q, not %s", pod.Name, name, want)
		return
	}
	if !strict {
		return
	}
	key := client.ObjectKey{Namespace: pod.Namespace, Name: name}
	group, _ := c.world.Server.Get(server.PodGroups, key.Namespace, key.Name).(*schedulingv1beta1.PodGroup)
	if !isJoinable(group, d) {
		if !h.groups.wentLater(group, d) && !h.groups.isTakenAway(key, d) {
			c.violate("17 gang: %s is created and its group %s is %s", pod.Name, name, conditionOf(group, d))
		}
		return
	}
	if before, known := h.groups.attempts[group.UID]; known && before != attempt {
		c.violate("17 gang: attempts %d and %d share group %s", before, attempt, name)
	}
	h.groups.attempts[group.UID] = attempt
	c.checkOneGroup(d, pod, life)
	least, most := c.minimum(d)
	if got := group.Spec.SchedulingPolicy.Gang.MinCount; (got < least || got > most) && !h.groups.meddled[group.UID] {
		c.violate("17 gang: %s is created and its group needs %d at once, not %d to %d", pod.Name, got, least, most)
	}
}

// wentLater reports whether another client deleted the group after the decision. The request of the decision was slow.
func (g *groups) wentLater(group *schedulingv1beta1.PodGroup, d *operator.Decision) bool {
	return group != nil && g.meddled[group.UID] && !group.DeletionTimestamp.IsZero() && !group.DeletionTimestamp.Time.Before(d.At.Truncate(time.Second))
}

// isTakenAway reports whether somebody else may have taken the group away a moment ago, even before its creator saw it.
func (g *groups) isTakenAway(key client.ObjectKey, d *operator.Decision) bool {
	seen, _ := d.Process.Cache.Get(server.PodGroups, key).(*schedulingv1beta1.PodGroup)
	if seen == nil {
		return len(g.meddled) > 0
	}
	return isJoinable(seen, d) && g.meddled[seen.UID]
}

// groupAttempt is the attempt whose group the pods of the present one are of: an earlier one's if some of them were restarted in place.
func groupAttempt(job *v1alpha1.TrainingJob) int {
	return int(ptr.Deref(job.Status.Memory.GroupAttempt, job.Status.Attempt))
}

// checkOneGroup: all pods of an attempt are of one group, those that were restarted in place too.
func (c *Checker) checkOneGroup(d *operator.Decision, pod *corev1.Pod, life state.Life) {
	for _, other := range c.world.Pods() {
		_, theirs, _, named := livesIn(d.From.Name, other)
		ref := ledger.OwnerOf(other)
		slot, _, _ := parsePodName(d.From.Name, other.Name)
		ours := named && isOfGang(&d.From.Spec, slot.Role) && ref != nil && ref.UID == d.UID() && !world.IsOver(other) && !c.of(d.UID()).uncanny[other.UID]
		if ours && theirs.Attempt == life.Attempt && server.GroupOf(other) != server.GroupOf(pod) {
			c.violate("17 gang: %s joins %s, %s of the same attempt is of %s", pod.Name, server.GroupOf(pod), other.Name, server.GroupOf(other))
		}
	}
}

func isJoinable(group *schedulingv1beta1.PodGroup, d *operator.Decision) bool {
	if group == nil || group.DeletionTimestamp != nil && !isHeld(d) {
		return false
	}
	ref := ledger.OwnerOf(group)
	return ref != nil && ref.UID == d.UID()
}

// isHeld reports whether a pod of the attempt's group runs, as the decision saw it: then the group does not go, and others can join it.
func isHeld(d *operator.Decision) bool {
	return slices.ContainsFunc(d.Process.Cache.List(server.Pods), func(o client.Object) bool {
		pod := o.(*corev1.Pod)
		_, life, _, named := livesIn(d.From.Name, pod)
		ref := ledger.OwnerOf(pod)
		return named && ref != nil && ref.UID == d.UID() && life.Attempt == int(d.From.Status.Attempt) && pod.Status.Phase == corev1.PodRunning
	})
}

func conditionOf(group *schedulingv1beta1.PodGroup, d *operator.Decision) string {
	switch {
	case group == nil:
		return "not there"
	case group.DeletionTimestamp != nil:
		return "on its way out"
	default:
		return "not that of " + string(d.UID())
	}
}

// minimum returns between which bounds a group's minimum is right: minAvailable, or all replicas, with minReplicas of elastic
// workers; but not more than there are left to run. What has ended unseen may be counted or not. A Kubeflow job that needs more than all its
// replicas waits.
func (c *Checker) minimum(d *operator.Decision) (least, most int32) {
	spec := &d.From.Spec
	wanted := int32(0)
	for role := range spec.ReplicaSpecs {
		if isOfGang(spec, role) {
			wanted += spec.Replicas(role)
		}
	}
	if spec.Elastic != nil {
		wanted += spec.Elastic.MinReplicas - spec.Replicas(v1alpha1.Worker)
	}
	wanted = ptr.Deref(spec.Scheduling.MinAvailable, wanted)
	if metav1.GetControllerOf(d.From) != nil && int(wanted) > state.Total(spec) {
		return wanted, wanted
	}
	now, _ := c.knownTo(d)
	left := func(job *v1alpha1.TrainingJob, unseen bool) (n int32) {
		memory := memoryOf(job)
		for _, role := range slices.DeleteFunc(spec.Roles(), func(role v1alpha1.Role) bool { return !isOfGang(spec, role) }) {
			m := memory[role]
			for i := range int(spec.Replicas(role)) {
				slot := state.Slot{Role: role, Index: i}
				isDone := m != nil && (m.Succeeded.Has(i) || m.GivenUp.Has(i))
				isDone = isDone || unseen && c.of(d.UID()).hasEnded(place{slot, lifeIn(job, memory, slot)})
				if !isDone && role != v1alpha1.Evaluator {
					n++
				}
			}
		}
		return n
	}
	return min(wanted, left(now, true)), min(wanted, left(d.From, false))
}

// hasEnded reports whether a pod of the life has exited with code 0.
func (h *history) hasEnded(p place) bool {
	return slices.ContainsFunc(h.fates[p], func(f *fate) bool { return f.exit != nil && *f.exit == 0 })
}
