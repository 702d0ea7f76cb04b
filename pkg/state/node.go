package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Node is what the operator knows of a node that is in trouble.
type Node struct {
	Name string
	// Since is when the trouble began.
	Since time.Time
	// Lost says why pods on the node count as lost, and from when on; the zero value if they do not.
	Lost Trouble
	// Ill says in somebody's words that the node is ill, if its pods do not count as lost for it; the zero value if it is not. Action is what is
	// done about it.
	Ill    Trouble
	Action NodeAction
	// Others is how many other nodes there are for the pods of one that they are to leave; it is counted only for a node that holds pods.
	Others int
}

// NodeOf returns what the operator knows of a node: it is lost once it has not been ready for lostAfter, or at once if it is tainted
// as out of service or a signal says so; and it is ill as the signals have it.
func NodeOf(node *corev1.Node, lostAfter time.Duration, signals Signals) Node {
	n := Node{Name: node.Name}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			n.Since = c.LastTransitionTime.Time
			n.Lost = Trouble{
				Reason:  v1alpha1.ReasonNodeLost,
				Message: fmt.Sprintf("not ready for %v", lostAfter), Time: n.Since.Add(lostAfter),
			}
		}
	}
	if action, words := signals.of(node); action == LoseNode {
		n.Since, n.Lost = words.Time, words
	} else if action > IgnoreNode {
		words.Reason = v1alpha1.ReasonNodeIll
		n.Ill, n.Action = words, action
	}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Key == corev1.TaintNodeOutOfService {
			n.Lost = wordsOfTaint(t)
			n.Since = n.Lost.Time
		}
	}
	return n
}

// BrokenBecause returns why the node is broken by its own status, whatever happened to pods on it; empty if it is not. Cordons and taints
// show an intention of an administrator, so of these only out-of-service counts, and those that make a node lost.
func BrokenBecause(node *corev1.Node, now time.Time, lostAfter time.Duration, signals Signals) string {
	isHeeded := func(c corev1.NodeCondition) bool { return signals.Heeds(&c) }
	switch n := NodeOf(node, lostAfter, signals); {
	case n.Lost.Reason != "" && !now.Before(n.Lost.Time):
		return n.Lost.Reason
	case slices.ContainsFunc(node.Status.Conditions, isHeeded):
		return v1alpha1.ReasonNodeIll
	case lacksDevices(node):
		return v1alpha1.ReasonDeviceUnhealthy
	default:
		return ""
	}
}

// lacksDevices reports whether the node offers fewer devices than it has: the kubelet takes unhealthy ones off what is allocatable.
// Source: k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/manager.go, GetCapacity.
func lacksDevices(node *corev1.Node) bool {
	for name, capacity := range node.Status.Capacity {
		if allocatable, offered := node.Status.Allocatable[name]; IsDevice(name) && offered && allocatable.Cmp(capacity) < 0 {
			return true
		}
	}
	return false
}

// IsDevice reports whether the resource is one of a device plugin, such as nvidia.com/gpu.
func IsDevice(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// ill returns the trouble of a node of which somebody says so.
func ill(words string) Trouble { return trouble(v1alpha1.ReasonNodeIll, Quote(words), time.Time{}) }

// wordsOfCondition returns what the condition says: its type, reason and message.
func wordsOfCondition(c *corev1.NodeCondition) Trouble {
	text := string(c.Type)
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	words := ill(text)
	words.Time = c.LastTransitionTime.Time
	return words
}

// wordsOfTaint returns what the taint says.
func wordsOfTaint(t *corev1.Taint) Trouble {
	words := Trouble{Reason: v1alpha1.ReasonNodeTainted, Message: "tainted " + t.Key}
	if t.TimeAdded != nil {
		words.Time = t.TimeAdded.Time
	}
	return words
}

// DeletedNode returns a node that was deleted under its pods.
func DeletedNode(name string, now time.Time) Node {
	return Node{Name: name, Since: now, Lost: Trouble{Reason: v1alpha1.ReasonNodeDeleted, Message: "the node was deleted", Time: now}}
}

// NodeTrouble returns the trouble of the pod's node, whether or not the pod already counts as lost for it; ok is false if
// the node is well.
func (s *Snapshot) NodeTrouble(p *Pod) (n Node, ok bool) {
	i, found := slices.BinarySearchFunc(s.Nodes, p.Node, func(n Node, name string) int { return cmp.Compare(n.Name, name) })
	if !found || s.Nodes[i].Lost.Reason == "" {
		return Node{}, false
	}
	return s.Nodes[i], true
}

// HeedsIllNodes reports whether the job avoids and leaves nodes that are ill: one that avoids no nodes does not.
func (s *Snapshot) HeedsIllNodes() bool {
	return AvoidFor(&s.Job.Spec) > 0
}

// IsToLeave returns the node of the pod if the pod is to leave it as it is ill; ok is false if it may stay.
func (s *Snapshot) IsToLeave(p *Pod) (n Node, ok bool) {
	i, found := slices.BinarySearchFunc(s.Nodes, p.Node, func(n Node, name string) int { return cmp.Compare(n.Name, name) })
	if !found || s.Nodes[i].Action != MoveFromNode {
		return Node{}, false
	}
	return s.Nodes[i], true
}

// IsLost reports whether the pod has not finished and its node counts as lost.
func (s *Snapshot) IsLost(p *Pod) bool {
	if !p.CanRun() {
		return false
	}
	n, found := s.NodeTrouble(p)
	return found && !s.Now.Before(n.Lost.Time)
}

// MayAct reports whether a process of the pod may still run and be reached by its peers: it has not finished, and
// is not a lost one that was taken out of the Service.
func (s *Snapshot) MayAct(p *Pod) bool {
	return p.CanRun() && (!p.Fenced || !s.IsLost(p))
}

const (
	// mostNodes is the part of all nodes from which on it is likelier that the control plane has lost touch than that they are
	// all lost; the node controller of Kubernetes has the same threshold.
	mostNodes = 0.55
	// together is within which time nodes cease to be ready if the control plane has lost touch with them.
	together = 5 * time.Minute
	// doubtFor is how long the control plane may have lost touch: nodes that are off for longer are off.
	doubtFor = time.Hour
)

// doubtMassLoss puts off the loss of nodes that ceased to be ready together with most nodes of the cluster: every job
// restarting at once would help nobody.
func (s *Snapshot) doubtMassLoss() {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if s.AllNodes > 0 && n.IsNotReady() && s.Now.Sub(n.Since) <= doubtFor && isMassLoss(n.Since, s.NotReady, s.AllNodes) {
			n.Lost.Time = Latest(n.Lost.Time, s.Now.Add(s.LostAfter))
		}
	}
}

// isMassLoss reports whether most of all nodes ceased to be ready at about that time. Those that had been off for long by
// then, as pools that are powered down, count neither way.
func isMassLoss(since time.Time, notReady []time.Time, all int) bool {
	with, before := 0, 0
	for _, t := range notReady {
		switch {
		case t.Before(since.Add(-together)):
			before++
		case !t.After(since.Add(together)):
			with++
		}
	}
	return float64(with) >= mostNodes*float64(all-before)
}

// IsNotReady reports whether the node's trouble is that it is not ready.
func (n *Node) IsNotReady() bool { return n.Lost.Reason == v1alpha1.ReasonNodeLost }

// nodeFaults are the reasons of failures that are the node's own: it broke, or its kubelet turned the pod away
// before a container ran.
// Source: k8s.io/kubernetes/pkg/kubelet/lifecycle/predicate.go, and the kubelet's other admit handlers.
var nodeFaults = []string{
	v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeIll, v1alpha1.ReasonDeviceUnhealthy, "DeletionByTaintManager",
	"TopologyAffinityError", "SMTAlignmentError", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "InvalidNodeInfo",
	"AppArmor", "SysctlForbidden", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "NodeShutdown",
}

// IsNodeFault reports whether a failure of that reason is the node's own, so that once is enough.
func IsNodeFault(reason string) bool {
	return slices.Contains(nodeFaults, reason) ||
		strings.HasPrefix(reason, "OutOf") || // of a resource: OutOfcpu, OutOfnvidia.com/gpu
		strings.HasPrefix(reason, "Unexpected") // UnexpectedAdmissionError, of a device plugin; and the like
}
