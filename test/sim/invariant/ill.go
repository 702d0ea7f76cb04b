package invariant

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
)

// checkMove: a job leaves a node only while that says that jobs are to, as far as the process can know; in the node's own words; of a pod that is on
// it; for free; not twice while it is avoided for that; and only if there is another one.
func (c *Checker) checkMove(before *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	seen := c.writer.Process.Cache
	node, _ := seen.Get(server.Nodes, client.ObjectKey{Name: i.Node}).(*corev1.Node)
	words, isIll := saysIll(node, operator.MovesFrom)
	if !isIll { // the node of a pod that is gone is read from the API server
		node, _ = c.world.Server.Get(server.Nodes, "", i.Node).(*corev1.Node)
		words, isIll = saysIll(node, operator.MovesFrom)
	}
	pod, _ := seen.Get(server.Pods, client.ObjectKey{Namespace: before.Namespace, Name: i.Pod}).(*corev1.Pod)
	isKnown := func(n v1alpha1.AvoidedNode) bool {
		return n.Name == i.Node && n.Reason == v1alpha1.ReasonNodeIll && i.RestartTime.Before(&n.ExpirationTime)
	}
	switch {
	case !isIll:
		c.violate("22 ill nodes: %s leaves %q (%s), which does not show that it is unhealthy", i.Pod, i.Node, i.Message)
	case !strings.HasPrefix(i.Message, operator.MovesFrom) || !strings.Contains(i.Message, words):
		c.violate("22 ill nodes: %s leaves %s because of %q, the node shows %q", i.Pod, i.Node, i.Message, words)
	case i.Cause != v1alpha1.CauseInfrastructure || i.Charged || i.ExitCode != nil:
		c.violate("22 ill nodes: the move of %s from %s is charged, or recorded as a failure: %+v", i.Pod, i.Node, i)
	case pod == nil || pod.Spec.NodeName != i.Node:
		c.violate("22 ill nodes: %s leaves %s and is not on it", i.Pod, i.Node)
	case slices.ContainsFunc(before.Status.AvoidedNodes, isKnown):
		c.violate("22 ill nodes: %s leaves %s, which the job has left, or could not leave: %+v", i.Pod, i.Node, before.Status.AvoidedNodes)
	case len(goodNodes(seen, avoidingAt(before, i.RestartTime))) == 0:
		c.violate("22 ill nodes: %s leaves %s, and there is no other node", i.Pod, i.Node)
	}
}

// saysIll returns the node's own words if the condition of that type says that it is ill.
func saysIll(node *corev1.Node, kind corev1.NodeConditionType) (words string, isIll bool) {
	if node == nil {
		return "", false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == kind && condition.Status == corev1.ConditionTrue {
			return condition.Message, true
		}
	}
	return "", false
}

// goodNodes returns the nodes of the cache that are well and that the job, as it was read, does not avoid.
func goodNodes(seen *server.Cache, job *v1alpha1.TrainingJob) []string {
	var good []string
	for _, o := range seen.List(server.Nodes) {
		node := o.(*corev1.Node)
		if isUsable(node) && !isSaidIll(node) && !isAvoided(job, node.Name) {
			good = append(good, node.Name)
		}
	}
	return good
}

func isUsable(node *corev1.Node) bool {
	isDown := func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue
	}
	_, isGone := saysIll(node, operator.Loses)
	return len(node.Spec.Taints) == 0 && !isGone && !slices.ContainsFunc(node.Status.Conditions, isDown)
}

// isSaidIll reports whether new pods are to stay off the node.
func isSaidIll(node *corev1.Node) bool {
	_, isLeft := saysIll(node, operator.MovesFrom)
	_, isLeftAlone := saysIll(node, operator.StaysOff)
	_, isGone := saysIll(node, operator.Loses)
	return isLeft || isLeftAlone || isGone
}

// avoidingAt returns the job with the nodes alone that it avoids at that time.
func avoidingAt(job *v1alpha1.TrainingJob, now metav1.Time) *v1alpha1.TrainingJob {
	job = job.DeepCopy()
	job.Status.AvoidedNodes = slices.DeleteFunc(job.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return !now.Before(&n.ExpirationTime) })
	return job
}

// isAvoided reports whether the job, as it was read, avoids the node, or has: how long ago its process read it is not known.
func isAvoided(job *v1alpha1.TrainingJob, node string) bool {
	return slices.ContainsFunc(job.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node })
}

// checkPlacement: a new pod prefers all other nodes to each ill one, and to no other but silent ones and those that the job avoids; it excludes no node, so that it can run
// wherever there is room.
func (c *Checker) checkPlacement(pod *corev1.Pod, d *operator.Decision) {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		c.violate("22 ill nodes: %s is created and excludes nodes", pod.Name)
	}
	if d.Late {
		return
	}
	for _, o := range d.Process.Cache.List(server.Nodes) {
		node := o.(*corev1.Node)
		isIll := isSaidIll(node) && heedsIll(d.From)
		switch shuns := scheduler.Avoids(pod, node.Name); {
		case isIll && !shuns:
			c.violate("22 ill nodes: %s is created and does not prefer other nodes to %s, which is unhealthy", pod.Name, node.Name)
		case shuns && !isIll && !isAvoided(d.From, node.Name) && !c.seemsSilent(node.Name, d):
			c.violate("22 ill nodes: %s is created and prefers others to %s, which the job does not avoid and which is well", pod.Name, node.Name)
		}
	}
}

// heedsIll reports whether the job heeds what is said of nodes: one that avoids no nodes does not.
func heedsIll(job *v1alpha1.TrainingJob) bool {
	return ptr.Deref(job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds) > 0
}

// knowsIll reports whether the process that writes sees an ill node, or a silent one.
func (c *Checker) knowsIll() bool {
	return slices.ContainsFunc(c.writer.Process.Cache.List(server.Nodes), func(o client.Object) bool {
		return isSaidIll(o.(*corev1.Node)) || c.seemsSilent(o.GetName(), c.writer)
	})
}
