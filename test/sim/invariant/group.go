package invariant

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// groups is what has happened to the pod groups of one job.
type groups struct {
	// attempts are the attempts by the UID of the group that their pods join.
	attempts map[types.UID]int
	// meddled are the groups that somebody else than the leader has changed or deleted, which the leader may not have seen yet.
	meddled map[types.UID]bool
}

// isGang reports whether the job's pods are scheduled by Kubernetes' own gang scheduling; the simulation knows no other.
func isGang(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Scheduling != nil && job.Spec.Scheduling.Gang == v1alpha1.GangNative
}

// groupName is the documented name of an attempt's group.
func groupName(job *v1alpha1.TrainingJob, attempt int) string {
	return fmt.Sprintf("%s-%d", job.Name, attempt)
}

// waitsForGoingGroup reports whether the pod never had a node, and its group was being deleted, so that it gets none, as the decision saw it: one
// of that name may have come since. It is deleted only if it still has no node, and is made anew.
func (c *Checker) waitsForGoingGroup(r *server.Request, pod *corev1.Pod, d *operator.Decision) bool {
	if pod.Spec.NodeName != "" || server.GroupOf(pod) == "" || r.Delete.Preconditions.ResourceVersion == nil {
		return false
	}
	group := d.Process.Cache.Get(server.PodGroups, client.ObjectKey{Namespace: pod.Namespace, Name: server.GroupOf(pod)})
	return group != nil && group.GetDeletionTimestamp() != nil
}

// hearGroup holds what the operator does with a pod group against the job, and notes what others do.
func (c *Checker) hearGroup(change *server.Change) {
	was, _ := change.Was.(*schedulingv1beta1.PodGroup)
	is, _ := change.Is.(*schedulingv1beta1.PodGroup)
	d := decisionOf(change)
	if c.Say != nil {
		c.Say("%s: %s", change.Request.User, change.Request)
	}
	if change.Request.User != operator.User || !d.Leads() {
		c.noteMeddling(was, is)
	}
	switch {
	case change.Request.User != operator.User:
	case was == nil:
		c.checkCreateGroup(is, d)
	case change.Request.Verb == server.Delete:
		c.checkDeleteGroup(change.Request, was, d)
	default:
		c.checkResize(was, is, d)
	}
}

// noteMeddling notes which group was deleted or resized: not what its status says, and not that its deletion has come to its end.
func (c *Checker) noteMeddling(was, is *schedulingv1beta1.PodGroup) {
	if was == nil || was.DeletionTimestamp != nil || is != nil && is.DeletionTimestamp == nil && equality.Semantic.DeepEqual(was.Spec, is.Spec) {
		return
	}
	if ref := ledger.OwnerOf(was); ref != nil {
		c.of(ref.UID).groups.meddled[was.UID] = true
	}
}

// checkCreateGroup: a group is made for the present attempt of a job that wants one and may run.
func (c *Checker) checkCreateGroup(group *schedulingv1beta1.PodGroup, d *operator.Decision) {
	if !ledger.HasOwners(group, d.From) || group.Labels[v1alpha1.LabelJobUID] != string(d.UID()) {
		c.violate("1 identity: group %s has owners %v, labels %v", group.Name, group.OwnerReferences, group.Labels)
	}
	job, _ := c.knownTo(d)
	switch {
	case !isGang(d.From):
		c.violate("17 gang: group %s is created for a job that wants none", group.Name)
	case group.Name != groupName(job, groupAttempt(job)):
		c.violate("17 gang: group %s is created in attempt %d", group.Name, job.Status.Attempt)
	case is(job, v1alpha1.ConditionFinished) || is(job, v1alpha1.ConditionSuspended) || job.Spec.IsSuspended() || job.DeletionTimestamp != nil:
		c.violate("4 no work without cause: group %s is created in phase %s", group.Name, job.Status.Phase)
	}
}

// checkDeleteGroup: a group is deleted when its attempt is past, or the job is suspended, or has ended with all its pods.
func (c *Checker) checkDeleteGroup(r *server.Request, group *schedulingv1beta1.PodGroup, d *operator.Decision) {
	if p := r.Delete.Preconditions; p == nil || p.UID == nil {
		c.violate("6 deletes: the delete of group %s names no UID", group.Name)
	}
	if ref := ledger.OwnerOf(group); ref == nil || ref.UID != d.UID() {
		c.violate("7 foreign objects: group %s, which is not the job's, is deleted", group.Name)
		return
	}
	job, strict := c.knownTo(d)
	over := is(job, v1alpha1.ConditionFinished) || is(job, v1alpha1.ConditionSuspended) || is(d.From, v1alpha1.ConditionSuspended)
	if strict && !over && isGang(d.From) && group.Name == groupName(job, groupAttempt(job)) {
		c.violate("17 gang: group %s is of the present attempt of an active job and is deleted", group.Name)
	}
}

// checkResize: the operator changes a group's minimum, and nothing else of it.
func (c *Checker) checkResize(was, is *schedulingv1beta1.PodGroup, d *operator.Decision) {
	want := was.Spec.DeepCopy()
	if gang := is.Spec.SchedulingPolicy.Gang; gang != nil && want.SchedulingPolicy.Gang != nil {
		want.SchedulingPolicy.Gang.MinCount = gang.MinCount
	}
	switch ref := ledger.OwnerOf(is); {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: group %s, which is not the job's, is changed", is.Name)
	case !equality.Semantic.DeepEqual(want, &is.Spec) || !equality.Semantic.DeepEqual(was.Labels, is.Labels):
		c.violate("17 gang: more than the minimum of group %s is changed", is.Name)
	}
}

// checkGroupsAtRest: groups of past attempts are gone, and all of them when the job is suspended, or has ended with its pods.
func (c *Checker) checkGroupsAtRest(job *v1alpha1.TrainingJob) {
	for _, o := range c.world.Server.List(server.PodGroups) {
		group := o.(*schedulingv1beta1.PodGroup)
		ref := ledger.OwnerOf(group)
		if ref == nil || ref.UID != job.UID {
			continue
		}
		runs := slices.ContainsFunc(c.world.Pods(), func(pod *corev1.Pod) bool {
			return server.GroupOf(pod) == group.Name && !world.IsOver(pod)
		})
		isPast := group.Name != groupName(job, groupAttempt(job))
		if !runs && (isPast || is(job, v1alpha1.ConditionFinished) || is(job, v1alpha1.ConditionSuspended) || !isGang(job)) {
			c.violate("17 gang: group %s is left, the job is %s in attempt %d", group.Name, job.Status.Phase, job.Status.Attempt)
		}
	}
}
