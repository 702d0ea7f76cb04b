package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
)

// isReportedUnhealthy reports whether new pods are to stay off the node.
func isReportedUnhealthy(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		isSignal := c.Type == operator.Breaks || c.Type == operator.StaysOff || c.Type == operator.Loses
		return isSignal && c.Status == corev1.ConditionTrue
	})
}

// isAvoided reports whether the job, as it was read, avoids the node, or has: how long ago its process read it is not known.
func isAvoided(job *v1alpha1.TrainingJob, node string) bool {
	return slices.ContainsFunc(job.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node })
}

// isAvoidedAt reports whether the job, as it was read, avoids the node at that time.
func isAvoidedAt(job *v1alpha1.TrainingJob, node string, at time.Time) bool {
	return slices.ContainsFunc(job.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node && at.Before(n.ExpirationTime.Time) })
}

// checkPlacement: a new pod prefers all other nodes to each unhealthy one and to those that the job avoids, and to no other; the scheduler
// heeds that while another node has room. It excludes those alone that are lost or silent, so that it can run wherever there is room.
func (c *Checker) checkPlacement(pod *corev1.Pod, d *operator.Decision) {
	c.checkExclusions(pod)
	if d.Late {
		return
	}
	for _, o := range d.Process.Cache.List(server.Nodes) {
		node := o.(*corev1.Node)
		isUnhealthy := isReportedUnhealthy(node) && avoidsUnhealthy(d.From)
		c.checkExcluded(pod, node, d)
		switch shuns := scheduler.Avoids(pod, node.Name); {
		case isUnhealthy && !shuns:
			c.violate("22 blame is true: %s is created and does not prefer other nodes to %s, which is unhealthy", pod.Name, node.Name)
		case !shuns && isAvoidedAt(d.From, node.Name, d.At):
			c.violate("22 blame is true: %s is created and does not prefer other nodes to %s, which the job avoids", pod.Name, node.Name)
		case shuns && !isUnhealthy && !isAvoided(d.From, node.Name) && !c.seemsSilent(node.Name, d):
			c.violate("22 blame is true: %s is created and prefers others to %s, which the job does not avoid and which is well", pod.Name, node.Name)
		}
	}
}

// isLostNow reports whether the node counts as lost, or will, by what the API server has.
func (c *Checker) isLostNow(name string, d *operator.Decision) bool {
	node, _ := c.world.Server.Get(server.Nodes, "", name).(*corev1.Node)
	return node == nil || !lostFrom(node, d.At).IsZero()
}

// checkExcluded: a new pod excludes the nodes of the job that are lost, and no node that is well.
func (c *Checker) checkExcluded(pod *corev1.Pod, node *corev1.Node, d *operator.Decision) {
	from, excludes := lostFrom(node, d.At), scheduler.Excludes(pod, node.Name)
	switch isLost := !from.IsZero() && !d.At.Before(from); {
	case excludes && from.IsZero() && !c.seemsSilent(node.Name, d) && !c.isLostNow(node.Name, d): // the cache may be behind what the process has read
		c.violate("22 blame is true: %s is created and excludes %s, which is well", pod.Name, node.Name)
	case !excludes && isLost && holds(node.Name, d) && !hasLostTouch(d):
		c.violate("22 blame is true: %s is created and does not exclude %s, which is lost", pod.Name, node.Name)
	}
}

// hasLostTouch reports whether most nodes are not ready, as the decision saw them: none of them counts as lost then.
func hasLostTouch(d *operator.Decision) bool {
	all, off := d.Process.Cache.List(server.Nodes), 0
	for _, o := range all {
		if slices.ContainsFunc(o.(*corev1.Node).Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		}) {
			off++
		}
	}
	return 100*off >= 55*len(all)
}

// avoidsUnhealthy reports whether the job avoids unhealthy nodes: one that avoids no nodes does not.
func avoidsUnhealthy(job *v1alpha1.TrainingJob) bool {
	return ptr.Deref(job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds) > 0
}

// knowsUnhealthy reports whether the process that writes sees an unhealthy node, or a silent one.
func (c *Checker) knowsUnhealthy() bool {
	return slices.ContainsFunc(c.writer.Process.Cache.List(server.Nodes), func(o client.Object) bool {
		return isReportedUnhealthy(o.(*corev1.Node)) || c.seemsSilent(o.GetName(), c.writer)
	})
}
