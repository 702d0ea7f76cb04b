package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/nodes"
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
			o.Nodes = append(o.Nodes, nodes.Deleted(name, o.Now))
		case err != nil:
			return fmt.Errorf("reading node %s: %w", name, err)
		default:
			if n := c.health().Of(&node); n.Lost.Reason != "" || n.Action == state.MoveFromNode {
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
		if n := c.health().Of(&node); err == nil && n.Action == state.MoveFromNode {
			o.Nodes = append(o.Nodes, n)
		}
	}
	slices.SortFunc(o.Nodes, func(a, b state.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// health returns how the operator's flags judge nodes.
func (c *Cluster) health() nodes.Health {
	return nodes.Health{LostAfter: c.options.LostAfter, Signals: c.options.Signals}
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
		if why := nodes.BrokenBecause(node, c.clock.Now(), c.options.LostAfter, c.options.Signals); why != "" {
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
	for i := range o.Nodes {
		if isToLeave(o.Nodes[i]) {
			o.Nodes[i].Others = c.health().Others(o.Nodes[i].Name, all.Items, nodes.Avoided(o))
		}
	}
	return nil
}

// addIll adds the unhealthy nodes to the snapshot of a job with pods to place. It comes last, because only the rows of the snapshot show
// whether there are such pods. For a running job it reads nothing.
func (c *Cluster) addIll(ctx context.Context, s *state.Snapshot) error {
	if !c.options.WatchNodes || !s.HeedsIllNodes() || !nodes.Matter(s) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	s.Ill = c.health().Unhealthy(all.Items)
	return nil
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
		if n := nodes.Of(&all.Items[i], 0, nil); n.IsNotReady() {
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
