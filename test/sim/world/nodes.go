package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

const (
	// evictAfter is how long a node is away before its pods are deleted: what the operator's tolerations say.
	evictAfter = 30 * time.Second
	// sweepTainted and sweepOrphans are how long the garbage collector of pods takes to find those on a node that is out of service,
	// and how long it waits for a node that is gone. Source: k8s.io/kubernetes/pkg/controller/podgc.
	sweepTainted = 20 * time.Second
	sweepOrphans = 40 * time.Second
)

// FailNode cuts a node off, and the node controller notices it at once.
func (w *World) FailNode(name string) { w.SilenceNode(name, 0) }

// SilenceNode cuts a node off: its kubelet reports nothing more and receives nothing. The node controller notices it after that time.
func (w *World) SilenceNode(name string, noticedAfter time.Duration) {
	if w.isDown(name) || w.node(name) == nil {
		return
	}
	w.say("node %s does not answer any more", name)
	w.downAt[name] = w.Clock.Now().Add(noticedAfter)
	w.hit(&Fault{What: name + " is cut off"}, w.runningOn(name)...)
	if noticedAfter == 0 {
		w.markDown(name)
	}
}

// runningOn returns the pods that run on the node.
func (w *World) runningOn(node string) []*corev1.Pod {
	return slices.DeleteFunc(w.Pods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node || !runs(pod) })
}

// isDown reports whether the node's kubelet is cut off, noticed or not.
func (w *World) isDown(name string) bool { return !w.downAt[name].IsZero() }

// isNoticed reports whether the node controller has noticed that the node is down.
func (w *World) isNoticed(name string) bool {
	return w.isDown(name) && slices.ContainsFunc(w.node(name).Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// markDown reports the node and its pods as not ready.
func (w *World) markDown(name string) {
	w.writeNode(name, func(node *corev1.Node) { setReady(node, corev1.ConditionUnknown, w) })
	for _, pod := range w.Pods() {
		if pod.Spec.NodeName == name && pod.Status.Phase == corev1.PodRunning {
			w.writePod(NodeController, pod, func(pod *corev1.Pod) { setCondition(&pod.Status, corev1.PodReady, "", "") })
		}
	}
}

// ReviveNode brings a node back; its pods have run on all the while.
func (w *World) ReviveNode(name string) {
	if !w.isDown(name) {
		return
	}
	w.say("node %s is back", name)
	for _, pod := range w.runningOn(name) {
		delete(w.faults, processOf(pod))
	}
	delete(w.downAt, name)
	delete(w.sweepAt, name)
	if w.node(name) == nil {
		w.AddNode(name)
	}
	w.writeNode(name, func(node *corev1.Node) {
		setReady(node, corev1.ConditionTrue, w)
	})
	node := w.node(name).DeepCopy()
	node.Spec.Taints = nil
	w.must(&server.Request{User: NodeController, Verb: server.Update, Kind: server.Nodes, Key: client.ObjectKey{Name: name}, Object: node})
	for _, pod := range w.Pods() {
		if pod.Spec.NodeName == name && isMarked(pod) {
			w.writePod(Kubelet, pod, w.setReady)
		}
	}
}

// isMarked reports whether the pod runs and FailNode has said that it is not ready. The kubelet that is back says otherwise, also
// of a pod that is being deleted (test/nodes).
func isMarked(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
	})
}

// AddNode adds a node.
func (w *World) AddNode(name string) {
	if !slices.Contains(w.nodes, name) {
		w.nodes = append(w.nodes, name)
	}
	w.must(&server.Request{User: NodeController, Verb: server.Create, Kind: server.Nodes, Key: client.ObjectKey{Name: name}, Object: newNode(name)})
}

// DeleteNode takes a node away for good; the pods on it are removed some time later.
func (w *World) DeleteNode(name string) {
	if w.node(name) == nil {
		return
	}
	w.say("node %s is deleted", name)
	w.hit(&Fault{What: name + " is deleted"}, w.runningOn(name)...)
	w.downAt[name] = w.Clock.Now()
	w.must(&server.Request{User: NodeController, Verb: server.Delete, Kind: server.Nodes, Key: client.ObjectKey{Name: name}})
	w.sweepAt[name] = w.Clock.Now().Add(sweepOrphans)
}

// TaintNode says that a node that does not answer is out of service: the pods on it are removed some time later.
func (w *World) TaintNode(name string) {
	if !w.isDown(name) || w.node(name) == nil {
		return
	}
	w.say("node %s is out of service", name)
	node := w.node(name).DeepCopy()
	now := w.second()
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute, TimeAdded: &now}}
	w.must(&server.Request{User: NodeController, Verb: server.Update, Kind: server.Nodes, Key: client.ObjectKey{Name: name}, Object: node})
	w.sweepAt[name] = w.Clock.Now().Add(sweepTainted)
}

// Cordon keeps new pods off the node, or lets them onto it again.
func (w *World) Cordon(name string, yes bool) {
	if w.node(name) == nil || w.node(name).Spec.Unschedulable == yes {
		return
	}
	w.say("user: cordons %s: %t", name, yes)
	node := w.node(name).DeepCopy()
	node.Spec.Unschedulable = yes
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Nodes, Key: client.ObjectKey{Name: name}, Object: node})
}

// sweep removes the pods of a node without asking its kubelet.
func (w *World) sweep(name, reason string) {
	for _, pod := range w.Pods() {
		if pod.Spec.NodeName != name {
			continue
		}
		if !IsOver(pod) {
			w.writePod(NodeController, pod, func(pod *corev1.Pod) {
				setCondition(&pod.Status, corev1.DisruptionTarget, reason, "The node is gone.")
				pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = w.second()
				pod.Status.Phase = corev1.PodFailed
			})
		}
		w.Remove(NodeController, pod)
	}
}

// watchNodes deletes the pods of nodes that have been away for long, or for good.
func (w *World) watchNodes() {
	for _, name := range w.nodes {
		if at, due := w.sweepAt[name]; due && !w.Clock.Now().Before(at) {
			delete(w.sweepAt, name)
			w.sweep(name, "DeletionByPodGC")
		}
		since := w.downAt[name]
		if since.IsZero() || w.Clock.Now().Before(since) || w.node(name) == nil {
			continue
		}
		if !w.isNoticed(name) {
			w.markDown(name)
		}
		if w.Clock.Since(since) < evictAfter {
			continue
		}
		for _, pod := range w.Pods() {
			if pod.Spec.NodeName == name && pod.DeletionTimestamp == nil {
				w.Drain(NodeController, pod, "DeletionByTaintManager")
			}
		}
	}
}

func (w *World) readyNodes() []string {
	var names []string
	for _, o := range w.Server.List(server.Nodes) {
		if (!w.isDown(o.GetName()) || !w.isNoticed(o.GetName())) && !o.(*corev1.Node).Spec.Unschedulable {
			names = append(names, o.GetName())
		}
	}
	return names
}

func (w *World) node(name string) *corev1.Node {
	node, _ := w.Server.Get(server.Nodes, "", name).(*corev1.Node)
	return node
}

func newNode(name string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	return node
}

func (w *World) writeNode(name string, change func(*corev1.Node)) {
	node := w.node(name).DeepCopy()
	change(node)
	w.must(&server.Request{User: NodeController, Verb: server.Update, Kind: server.Nodes, Status: true, Key: client.ObjectKey{Name: name}, Object: node})
}

func setReady(node *corev1.Node, status corev1.ConditionStatus, w *World) {
	w.setNodeCondition(node, corev1.NodeCondition{Type: corev1.NodeReady, Status: status})
}

// setNodeCondition replaces a condition of the node. Its time is that of the last change of its status.
func (w *World) setNodeCondition(node *corev1.Node, is corev1.NodeCondition) {
	is.LastTransitionTime = w.second()
	var conditions []corev1.NodeCondition
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != is.Type:
			conditions = append(conditions, c)
		case c.Status == is.Status:
			is.LastTransitionTime = c.LastTransitionTime
		}
	}
	conditions = append(conditions, is)
	node.Status.Conditions = conditions
}

// ReportUnhealthy has a monitor say of the node that it is unhealthy, or say so again in other words.
func (w *World) ReportUnhealthy(name string, kind corev1.NodeConditionType) {
	w.sayOfNode(name, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue, Reason: string(kind) + "IsNotHealthy",
		Message: "[79] said at " + w.Clock.Elapsed().String() + " - RecommendedAction: RESTART_VM"})
}

// SayNotIll has a monitor say that the node is well, or that it does not know (any more).
func (w *World) SayNotIll(name string, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	w.sayOfNode(name, corev1.NodeCondition{Type: kind, Status: status})
}

func (w *World) sayOfNode(name string, says corev1.NodeCondition) {
	if w.node(name) == nil {
		return
	}
	w.say("a monitor says of node %s: %s is %s", name, says.Type, says.Status)
	w.writeNode(name, func(node *corev1.Node) { w.setNodeCondition(node, says) })
}

// setCondition replaces a condition of a pod by one that is true for a reason, or false without one.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, reason, message string) {
	var kept []corev1.PodCondition
	for _, c := range status.Conditions {
		if c.Type != kind {
			kept = append(kept, c)
		}
	}
	is := corev1.ConditionTrue
	if reason == "" {
		is = corev1.ConditionFalse
	}
	kept = append(kept, corev1.PodCondition{Type: kind, Status: is, Reason: reason, Message: message})
	status.Conditions = kept
}
