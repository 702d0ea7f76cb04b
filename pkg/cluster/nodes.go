package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// addNodes puts the nodes in trouble that hold pods of the job into what is observed. A node that is not in the cache may be
// new; only the API server's word counts for its deletion.
func (c *Cluster) addNodes(ctx context.Context, o *state.Observed) error {
	if !c.options.WatchNodes {
		return nil
	}
	hasLost := nodesOfGone(o)
	for _, name := range nodesOf(o) {
		var node corev1.Node
		err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) || hasLost[name] {
			node = corev1.Node{} // what is cached is not to be written into
			err = c.live.Get(ctx, client.ObjectKey{Name: name}, &node)
		}
		switch {
		case apierrors.IsNotFound(err):
			o.Nodes = append(o.Nodes, state.DeletedNode(name, o.Now))
		case err != nil:
			return fmt.Errorf("reading node %s: %w", name, err)
		default:
			if n := c.nodeOf(&node); n.Lost.Reason != "" || n.Action == state.MoveFromNode {
				o.Nodes = append(o.Nodes, n)
			}
		}
	}
	if err := c.addNodesOfExits(ctx, o); err != nil {
		return err
	}
	return c.addNotReady(ctx, o)
}

// addNodesOfExits adds ill nodes on which a replica of the job has failed and none runs now: that they are ill may explain the failure, if
// that was charged. Of a whole-job restart that may be any node on which the job was, for as long as the incident window is open.
func (c *Cluster) addNodesOfExits(ctx context.Context, o *state.Observed) error {
	names := map[string]bool{}
	for _, i := range o.Job.Status.Incidents {
		if !i.Charged || i.Explained || i.Node == "" {
			continue
		}
		names[i.Node] = true
		if i.Scope == v1alpha1.ScopeJob && !o.Now.After(i.Time.Add(state.IncidentWindow(&o.Job.Spec))) {
			for _, home := range c.memo(o.Job, nil).homes {
				names[home.node] = true
			}
		}
	}
	for _, name := range nodesOf(o) {
		delete(names, name)
	}
	for name := range names {
		var node corev1.Node
		err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		if n := c.nodeOf(&node); err == nil && n.Action == state.MoveFromNode {
			o.Nodes = append(o.Nodes, n)
		}
	}
	slices.SortFunc(o.Nodes, func(a, b state.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// nodeOf returns what is known of the node, as the operator's flags have it.
func (c *Cluster) nodeOf(node *corev1.Node) state.Node {
	return state.NodeOf(node, c.options.LostAfter, c.options.Signals)
}

// BrokenNodes returns the nodes that are broken by their own status, each with the reason, as the cache has them. It returns none if the
// operator may not read nodes, and an error if the cache cannot be read.
func (c *Cluster) BrokenNodes(ctx context.Context) (map[string]string, error) {
	if !c.options.WatchNodes {
		return nil, nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	broken := map[string]string{}
	for i := range all.Items {
		node := &all.Items[i]
		if why := state.BrokenBecause(node, c.clock.Now(), c.options.LostAfter, c.options.Signals); why != "" {
			broken[node.Name] = why
		}
	}
	return broken, nil
}

// nodesOfGone returns the nodes from which a pod has gone: what came before that, as a taint, the API server knows, and the cache may
// not yet.
func nodesOfGone(o *state.Observed) map[string]bool {
	nodes := map[string]bool{}
	for i := range o.Gone {
		nodes[o.Gone[i].Node] = true
	}
	return nodes
}

// addUsable tells a job that avoids nodes, that is to leave one, or of which pods are to be placed while nodes are ill, which nodes there are
// for it. It comes last, as only the rows of the snapshot say whether pods are to be placed: in a job that runs nothing is looked at.
func (c *Cluster) addUsable(ctx context.Context, s *state.Snapshot) error {
	avoided, leaves := avoidedNow(s), isToLeave(s)
	heeds := s.HeedsIllNodes() && (leaves || placesPods(s))
	if !c.options.WatchNodes || len(avoided) == 0 && !heeds {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var ill []illNode
	if heeds {
		ill = c.illNodes(all.Items)
	}
	if len(avoided)+len(ill) == 0 && !leaves {
		return nil
	}
	shapes := shapesOf(s.Job)
	usable := c.usableNodes(all.Items, shapes)
	others := slices.DeleteFunc(slices.Clone(usable), func(node *corev1.Node) bool {
		return avoided[node.Name] || heeds && c.nodeOf(node).Action > state.IgnoreNode
	})
	s.Ill, s.Usable = firstIll(ill, shapes), &state.Usable{Others: len(others)}
	if leaves {
		s.Usable.ByRole = shapes.byRole(others)
	}
	for _, node := range usable {
		if avoided[node.Name] {
			s.Usable.Avoided = append(s.Usable.Avoided, node.Name)
		}
	}
	slices.Sort(s.Usable.Avoided)
	return nil
}

// usableNodes returns the nodes that would take pods of the job.
func (c *Cluster) usableNodes(nodes []corev1.Node, shapes shapes) []*corev1.Node {
	var usable []*corev1.Node
	for i := range nodes {
		if node := &nodes[i]; !node.Spec.Unschedulable && c.nodeOf(node).Lost.Reason == "" && shapes.take(node) {
			usable = append(usable, node)
		}
	}
	return usable
}

// avoidedNow returns the nodes that the job avoids.
func avoidedNow(s *state.Snapshot) map[string]bool {
	avoided := map[string]bool{}
	for _, n := range s.Job.Status.AvoidedNodes {
		if s.Now.Before(n.Until.Time) {
			avoided[n.Name] = true
		}
	}
	return avoided
}

// isToLeave reports whether the job has pods, or spares, on a node that they are to leave.
func isToLeave(s *state.Snapshot) bool {
	leaves := func(p state.Pod) bool {
		_, is := s.IsToLeave(&p)
		return is && p.CanRun()
	}
	return len(s.Nodes) > 0 && (slices.ContainsFunc(s.Pods, leaves) || slices.ContainsFunc(s.Spares, leaves))
}

// placesPods reports whether a pod of the job has no node yet.
func placesPods(s *state.Snapshot) bool {
	if s.IsFinished() || s.Job.Spec.IsSuspended() {
		return false
	}
	for r := range s.Replicas() {
		if r.LacksNode() {
			return true
		}
	}
	placed := 0
	for i := range s.Spares {
		placed += one(s.Spares[i].Scheduled())
	}
	for _, replicas := range s.Job.Spec.ReplicaSpecs {
		if replicas.Spares != nil {
			placed -= int(replicas.Spares.Count)
		}
	}
	return placed < 0
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// illNode is a node that new pods are to stay off.
type illNode struct {
	node  *corev1.Node
	since time.Time
	// saysItself is whether a condition says so. The scheduler does not read those, but keeps pods off nodes that are cordoned, or have a taint that they do not tolerate.
	saysItself, isTainted bool
}

// illNodes returns the nodes that new pods are to stay off.
func (c *Cluster) illNodes(nodes []corev1.Node) []illNode {
	var ill []illNode
	for i := range nodes {
		node := &nodes[i]
		n := c.nodeOf(node)
		if n.Action == state.IgnoreNode {
			continue
		}
		says := func(condition corev1.NodeCondition) bool { return c.options.Signals.Heeds(&condition) }
		isSignal := func(t corev1.Taint) bool {
			return c.options.Signals[state.Signal{Kind: state.TaintSignal, Name: t.Key}] > state.IgnoreNode
		}
		ill = append(ill, illNode{node, n.Ill.Time, slices.ContainsFunc(node.Status.Conditions, says), slices.ContainsFunc(node.Spec.Taints, isSignal)})
	}
	return ill
}

// maxIll is how many ill nodes a new pod excludes at most: those that have been ill for longest, so that a node that becomes ill does not change
// what pods exclude that wait.
const maxIll = state.MaxAvoided

// firstIll returns the names of the ill nodes that new pods exclude: those that pods of the job could run on. Whether one that says itself that it is ill takes
// new pods at present is not asked: pods that wait are made anew when what new ones exclude changes.
func firstIll(ill []illNode, shapes shapes) []string {
	slices.SortStableFunc(ill, func(a, b illNode) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.node.Name, b.node.Name))
	})
	var names []string
	for i := range ill {
		node := ill[i].node
		if isListed := ill[i].saysItself || ill[i].isTainted && shapes.tolerate(node); isListed && shapes.suit(node) && len(names) < maxIll {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names
}

// addNotReady puts in how many nodes there are and which of them are not ready, if one that holds pods of the job is not.
func (c *Cluster) addNotReady(ctx context.Context, o *state.Observed) error {
	if !slices.ContainsFunc(o.Nodes, func(n state.Node) bool { return n.IsNotReady() }) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	o.AllNodes, o.NotReady = len(all.Items), nil
	for i := range all.Items {
		if n := state.NodeOf(&all.Items[i], 0, nil); n.IsNotReady() {
			o.NotReady = append(o.NotReady, n.Since)
		}
	}
	return nil
}

// nodesOf returns the names of the nodes that hold pods of the job, or of an earlier one of its name, which have not finished, sorted.
func nodesOf(o *state.Observed) []string {
	names := map[string]bool{}
	for _, pods := range [][]state.Pod{o.Pods, o.Spares, o.Former, o.Gone} {
		for i := range pods {
			if pods[i].Scheduled() && pods[i].CanRun() {
				names[pods[i].Node] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
