package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Node is what the operator knows of a node that is in trouble.
type Node struct {
	Name string
	// Since is when the trouble began.
	Since time.Time
	// Loss is why and from when pods on the node count as lost; the zero value if they do not. Lost is whether they do now (findLost).
	Loss Trouble
	Lost bool
	// Unhealthy is the reported fault of an unhealthy node whose pods do not count as lost; the zero value for a healthy node. Action is the
	// reaction to it.
	Unhealthy Trouble
	Action    NodeAction
}

// NodeAction is the reaction of jobs to an unhealthy node, from the weakest to the strongest.
type NodeAction int

// The actions.
const (
	// IgnoreNode: nothing.
	IgnoreNode NodeAction = iota
	// AvoidNode: nothing is restarted, and new pods prefer other nodes.
	AvoidNode
	// BlameNode: in addition, the node explains a replica that fails there: the restart is not charged.
	BlameNode
	// LoseNode: the node's pods count as lost at once, as on a node that does not answer.
	LoseNode
)

// NodeActions are the names of the actions, in their order.
var NodeActions = []string{"Ignore", "Avoid", "Blame", "Lost"}

// String returns the action's name.
func (a NodeAction) String() string { return NodeActions[a] }

// NodeOf returns the node of the pod, if it is in trouble, whether or not the pod already counts as lost for it; else the zero value.
func (s *Snapshot) NodeOf(p *Pod) Node {
	i, found := slices.BinarySearchFunc(s.Nodes, p.Node, func(n Node, name string) int { return cmp.Compare(n.Name, name) })
	if !found {
		return Node{}
	}
	n := s.Nodes[i]
	if n.IsSilent() && !p.Told && p.Created.After(n.Since) { // the scheduler had no better node: the pod waits for Kubernetes to mark it
		n.Loss, n.Lost = Trouble{}, false
	}
	return n
}

// AvoidsUnhealthyNodes reports whether the job avoids unhealthy nodes: one that avoids no nodes does not.
func (s *Snapshot) AvoidsUnhealthyNodes() bool { return AvoidFor(&s.Job.Spec) > 0 }

// IsLost reports whether the pod has not finished and its node counts as lost.
func (s *Snapshot) IsLost(p *Pod) bool { return p.CanRun() && s.NodeOf(p).Lost }

// IsSurelyLost reports whether the pod's node counts as lost by what the API server shows of the node itself. What cannot be taken back
// waits for that.
func (s *Snapshot) IsSurelyLost(p *Pod) bool { return s.IsLost(p) && !s.NodeOf(p).IsSilent() }

// addAwaitedNodes adds the nodes, sorted, with pods of the job for which a restart waits: pods of past lives that can still act, or, if a replica
// is broken or the report of rank 0 is late, all pods.
func (s *Snapshot) addAwaitedNodes() {
	if s.IsFinished() || s.IsResting() || !s.Job.DeletionTimestamp.IsZero() {
		return
	}
	isBroken := s.Progress.IsLate || s.Any((*Replica).IsBroken)
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Scheduled() && (isBroken || p.Restarting || s.IsPast(p)) && s.MayAct(p) {
			s.awaitedNodes = append(s.awaitedNodes, p.Node)
		}
	}
	slices.Sort(s.awaitedNodes)
	s.awaitedNodes = slices.Compact(s.awaitedNodes)
}

// addSilent lets the silent ones of the nodes that the job awaits count as lost, and reports whether there are any.
func (s *Snapshot) addSilent() bool {
	silent := maps.Clone(s.Seen.Silent)
	maps.DeleteFunc(silent, func(name string, _ time.Time) bool { return !slices.Contains(s.awaitedNodes, name) })
	s.Nodes = WithSilent(s.Nodes, silent, s.Now)
	return len(silent) > 0
}

// WithSilent returns the nodes, sorted, with the silent ones, each with since when. They count as lost unless they do already.
func WithSilent(known []Node, silent map[string]time.Time, now time.Time) []Node {
	all := slices.Clone(known)
	for name, since := range silent {
		i := slices.IndexFunc(all, func(n Node) bool { return n.Name == name })
		if i < 0 {
			i, all = len(all), append(all, Node{Name: name})
		}
		if n := &all[i]; !n.LostBy(now) {
			n.Since, n.Loss = since, Trouble{Reason: v1alpha1.ReasonNodeSilent, Message: "its kubelet does not renew its Lease, while most others do", Time: since}
		}
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// MayAct reports whether a process of the pod may still run and be reached by its peers: it has not finished, and
// is not a lost one that was taken out of the Service.
func (s *Snapshot) MayAct(p *Pod) bool { return p.CanRun() && (!p.Fenced || !s.IsLost(p)) }

const (
	// mostNodes is the part of all nodes from which on it is likelier that the control plane has lost touch than that they are
	// all lost; the node controller of Kubernetes has the same threshold.
	mostNodes = 0.55
	// together is within which time nodes cease to be ready if the control plane has lost touch with them.
	together = 5 * time.Minute
	// DoubtFor is how long the control plane may have lost touch: nodes that are off for longer are off.
	DoubtFor = time.Hour
)

// findLost finds the nodes that are lost now. It delays the loss of nodes that ceased to be ready together with most nodes of the cluster: a restart of every job at once
// would not help.
func (s *Snapshot) findLost() {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if s.AllNodes > 0 && n.IsNotReady() && s.Now.Sub(n.Since) <= DoubtFor && isMassLoss(n.Since, s.NotReady, s.AllNodes) {
			n.Loss.Time = Latest(n.Loss.Time, s.Now.Add(s.LostAfter))
		}
		n.Lost = n.LostBy(s.Now)
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

// LostBy reports whether pods on the node count as lost at that time.
func (n Node) LostBy(now time.Time) bool { return n.Loss.Reason != "" && !now.Before(n.Loss.Time) }

// IsSilent reports whether the node counts as lost only because it does not renew its Lease.
func (n Node) IsSilent() bool { return n.Loss.Reason == v1alpha1.ReasonNodeSilent }

// IsNotReady reports whether the node's trouble is that it is not ready.
func (n Node) IsNotReady() bool { return n.Loss.Reason == v1alpha1.ReasonNodeLost }
