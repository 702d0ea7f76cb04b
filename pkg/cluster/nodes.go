package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	for _, add := range []func(context.Context, *state.Observed) error{c.addOthers, c.addNodesOfExits, c.addNotReady} {
		if err := add(ctx, o); err != nil {
			return err
		}
	}
	return nil
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

// addOthers counts for each node that the job's pods are to leave how many other nodes there are for them.
func (c *Cluster) addOthers(ctx context.Context, o *state.Observed) error {
	isToLeave := func(n state.Node) bool { return n.Action == state.MoveFromNode }
	if !slices.ContainsFunc(o.Nodes, isToLeave) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	avoided := o.Avoided()
	for i := range o.Nodes {
		if at := slices.IndexFunc(all.Items, func(n corev1.Node) bool { return n.Name == o.Nodes[i].Name }); at >= 0 && isToLeave(o.Nodes[i]) {
			for j := range all.Items {
				other := &all.Items[j]
				o.Nodes[i].Others += one(!avoided.Now(other.Name) && c.isWell(other) && hasDevicesOf(other, &all.Items[at]))
			}
		}
	}
	return nil
}

// isWell reports whether the node is ready, healthy and open for new pods.
func (c *Cluster) isWell(node *corev1.Node) bool {
	n := c.nodeOf(node)
	return !node.Spec.Unschedulable && n.Lost.Reason == "" && n.Action == state.IgnoreNode
}

// hasDevicesOf reports whether the node has as many devices of each kind as the other one: a CPU node is no place for a job with GPUs.
func hasDevicesOf(node, other *corev1.Node) bool {
	for name, quantity := range other.Status.Allocatable {
		if has := node.Status.Allocatable[name]; strings.Contains(string(name), "/") && has.Cmp(quantity) < 0 {
			return false
		}
	}
	return true
}

// addIll puts the unhealthy nodes into the snapshot of a job of which pods are to be placed. It comes last, as only the rows of the snapshot say
// whether there are any: in a job that runs nothing is looked at.
func (c *Cluster) addIll(ctx context.Context, s *state.Snapshot) error {
	if !c.options.WatchNodes || !s.HeedsIllNodes() || !placesPods(s) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	s.Ill = c.illNodes(all.Items)
	return nil
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

// maxIll is how many unhealthy nodes new pods avoid at most: those that have been unhealthy for longest.
const maxIll = 16

// illNodes returns the names of the unhealthy nodes, sorted, and of those that a signal calls lost: the scheduler reads no such condition. A node that is
// only cordoned is not among them, as the scheduler keeps pods off.
func (c *Cluster) illNodes(nodes []corev1.Node) []string {
	var ill []state.Node
	for i := range nodes {
		if c.isSignalled(&nodes[i]) {
			ill = append(ill, c.nodeOf(&nodes[i]))
		}
	}
	since := func(n state.Node) time.Time { return state.Latest(n.Since, n.Ill.Time) } // one of them is set
	slices.SortFunc(ill, func(a, b state.Node) int { return cmp.Or(since(a).Compare(since(b)), cmp.Compare(a.Name, b.Name)) })
	var names []string
	for _, n := range ill[:min(len(ill), maxIll)] {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// isSignalled reports whether a condition or a taint of the node says that it is unhealthy.
func (c *Cluster) isSignalled(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool { return c.options.Signals.Heeds(&condition) }) ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return c.options.Signals[state.Signal{Kind: state.TaintSignal, Name: t.Key}] > state.IgnoreNode
		})
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
