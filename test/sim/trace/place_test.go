package trace_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/server"
)

// tick lets the scheduler and the kubelets do what is to be done now; it reports whether anything was.
func (c *cluster) tick() (busy bool) {
	free := c.free()
	for _, p := range c.pods() {
		switch {
		case p.Spec.NodeName == "":
			free, busy = c.bind(p, free), true
		case c.dead[p.Spec.NodeName]:
		case p.DeletionTimestamp != nil:
			c.do(&server.Request{User: "kubelet", Verb: server.Delete, Kind: server.Pods, Key: client.ObjectKeyFromObject(p), Delete: metav1.DeleteOptions{
				GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &p.UID}}})
			busy = true
		case p.Status.Phase == corev1.PodPending:
			c.writePod(p, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			})
			busy = true
		}
	}
	c.countDoubles()
	return busy
}

// free returns the ready nodes that hold no pod: each has room for one. A node that died is ready until somebody notices.
func (c *cluster) free() []string {
	taken := map[string]bool{}
	for _, p := range c.pods() {
		if p.Status.Phase != corev1.PodFailed {
			taken[p.Spec.NodeName] = true
		}
	}
	var names []string
	for _, o := range c.List(server.Nodes) {
		if ready := o.(*corev1.Node).Status.Conditions[0].Status == corev1.ConditionTrue; ready && !taken[o.GetName()] {
			names = append(names, o.GetName())
		}
	}
	return names
}

// bind puts the pod on the first free node that its affinity allows, and returns the nodes that are free then.
func (c *cluster) bind(p *corev1.Pod, free []string) []string {
	at := slices.IndexFunc(free, func(node string) bool { return !keepsOff(p, node) })
	if at < 0 {
		return free
	}
	node := free[at]
	if slices.ContainsFunc(c.status().AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node && c.clock.now.Before(n.Until.Time) }) {
		c.placedOnAvoided++
	}
	bound := p.DeepCopy()
	bound.Spec.NodeName = node
	c.do(&server.Request{User: "scheduler", Verb: server.Update, Kind: server.Pods, Key: client.ObjectKeyFromObject(p), Object: bound})
	return slices.Delete(free, at, at+1)
}

func keepsOff(p *corev1.Pod, node string) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return false
	}
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return slices.Contains(r.Values, node) }) {
			return true
		}
	}
	return false
}

// countDoubles counts ranks of which two processes run and can be reached through the Service.
func (c *cluster) countDoubles() {
	seen := map[string]bool{}
	for _, p := range c.running() {
		if _, reachable := p.Labels[v1alpha1.LabelJobName]; !reachable {
			continue
		}
		if seen[p.Spec.Hostname] {
			c.doubled++
		}
		seen[p.Spec.Hostname] = true
	}
}
