package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// addNodes adds the nodes in trouble that hold pods of the job to the observed state. A node that is not in the cache may be new.
// It counts as deleted only if the API server does not have it.
func (c *Cluster) addNodes(ctx context.Context, o *state.Observed) error {
	if !c.options.WatchNodes {
		return nil
	}
	for _, name := range nodesOf(o) {
		node, err := c.node(ctx, o, name)
		switch {
		case apierrors.IsNotFound(err):
			o.Nodes = append(o.Nodes, nodes.Deleted(name, o.Now))
		case err != nil:
			return fmt.Errorf("reading node %s: %w", name, err)
		default:
			if n := c.judge(node); n.Loss.Reason != "" || n.Action == state.BlameNode || node.Spec.Unschedulable {
				o.Nodes = append(o.Nodes, n)
			}
		}
	}
	for _, add := range []func(context.Context, *state.Observed) error{c.addNodesOfExits, c.addExcluded, c.addNotReady} {
		if err := add(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// absentFor is how long the API server's answer counts that the node of a pod does not exist. Users can forge pods, and each change of one is a pass.
const absentFor = 30 * time.Second

// node returns the node of that name, from the API server if the cache lacks it.
func (c *Cluster) node(ctx context.Context, o *state.Observed, name string) (*corev1.Node, error) {
	var cached, live corev1.Node // the cached node must not be overwritten
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, &cached, client.UnsafeDisableDeepCopy)
	memo := c.memo(o.Job, nil)
	switch confirmed := memo.confirmed[name]; {
	case !o.Now.Before(confirmed.until):
	case confirmed.node == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	default:
		if order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, confirmed.node.ResourceVersion); err != nil || order < 0 {
			return confirmed.node, nil
		}
	}
	pods := podsOn(name, o.Pods, o.Found, o.Former, o.Gone)
	wasAbsent := !slices.ContainsFunc(pods, func(pod types.UID) bool { return !o.Now.Before(memo.absentNodes[pod]) })
	if wasAbsent || !apierrors.IsNotFound(err) {
		return &cached, err
	}
	if err = c.live.Get(ctx, client.ObjectKey{Name: name}, &live); apierrors.IsNotFound(err) {
		c.memo(o.Job, func(m *jobMemo) {
			maps.DeleteFunc(m.absentNodes, func(_ types.UID, until time.Time) bool { return !o.Now.Before(until) })
			for _, pod := range pods { // a later pod is on a node of that name that has come back
				m.absentNodes[pod] = o.Now.Add(absentFor)
			}
		})
	}
	return &live, err
}

// podsOn returns the UIDs of the unfinished pods on the node.
func podsOn(node string, lists ...[]state.Pod) []types.UID {
	var on []types.UID
	for _, pods := range lists {
		for i := range pods {
			if pods[i].Node == node && pods[i].CanRun() {
				on = append(on, pods[i].UID)
			}
		}
	}
	return on
}

// addNodesOfExits adds the unhealthy nodes where a replica of the job has failed and none runs now. Their trouble may explain a
// charged failure. After a whole-job restart every node of the job counts, as long as the incident window is open.
func (c *Cluster) addNodesOfExits(ctx context.Context, o *state.Observed) error {
	names := map[string]bool{}
	for _, i := range o.Job.Status.Incidents {
		if !i.Charged || i.Explained || i.Node == "" {
			continue
		}
		names[i.Node] = true
		if i.Scope == v1alpha1.ScopeJob && !o.Now.After(i.Time.Add(state.IncidentWindow(&o.Job.Spec))) {
			for _, previous := range c.memo(o.Job, nil).previousNodes {
				names[previous.node] = true
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
		if n := c.judge(&node); err == nil && n.Action == state.BlameNode {
			o.Nodes = append(o.Nodes, n)
		}
	}
	return nil
}

// addExcluded adds the lost nodes that pods without a node exclude. It reads the cache only: an annotation names them, which others can write.
func (c *Cluster) addExcluded(ctx context.Context, o *state.Observed) error {
	for i := range o.Pods {
		if o.Pods[i].Scheduled() {
			continue
		}
		for _, name := range o.Pods[i].Excludes {
			var node corev1.Node
			err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node, client.UnsafeDisableDeepCopy)
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("reading node %s: %w", name, err)
			}
			isKnown := slices.ContainsFunc(o.Nodes, func(n state.Node) bool { return n.Name == name })
			if n := c.judge(&node); err == nil && !isKnown && n.Loss.Reason != "" {
				o.Nodes = append(o.Nodes, n)
			}
		}
	}
	return nil
}

func (c *Cluster) allNodes(ctx context.Context) ([]corev1.Node, error) {
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return all.Items, nil
}

// judge returns what the operator knows of a node.
func (c *Cluster) judge(node *corev1.Node) state.Node {
	return nodes.Of(node, c.options.LostAfter, c.options.Signals)
}

// BrokenNodes returns the cached nodes whose own status shows that they are broken, each with the reason. It returns none if the
// operator may not read nodes, and an error if the cache cannot be read.
func (c *Cluster) BrokenNodes(ctx context.Context) (map[string]string, error) {
	if !c.options.WatchNodes {
		return nil, nil
	}
	all, err := c.allNodes(ctx)
	if err != nil {
		return nil, err
	}
	broken := map[string]string{}
	for i := range all {
		node := &all[i]
		if why := nodes.BrokenBecause(node, c.clock.Now(), c.options.LostAfter, c.options.Signals); why != "" {
			broken[node.Name] = why
		}
	}
	return broken, nil
}

// addUnhealthy adds the unhealthy nodes to the snapshot of a job with pods to place: only its rows show whether there are any. For a running
// job it reads nothing.
func (c *Cluster) addUnhealthy(ctx context.Context, s *state.Snapshot) error {
	if !c.options.WatchNodes || !s.AvoidsUnhealthyNodes() || !nodes.Matter(s) {
		return nil
	}
	all, err := c.allNodes(ctx)
	if err != nil {
		return err
	}
	s.UnhealthyNodes = nodes.Unhealthy(all, c.options.LostAfter, c.options.Signals)
	return nil
}

// addNotReady adds the number of nodes, and since when each unready one is not ready, if a node of the job is not ready.
func (c *Cluster) addNotReady(ctx context.Context, o *state.Observed) error {
	if !slices.ContainsFunc(o.Nodes, func(n state.Node) bool { return n.IsNotReady() }) {
		return nil
	}
	all, err := c.allNodes(ctx)
	if err != nil {
		return err
	}
	o.AllNodes, o.NotReady = len(all), nil
	for i := range all {
		if n := nodes.Of(&all[i], 0, nil); n.IsNotReady() {
			o.NotReady = append(o.NotReady, n.Since)
		}
	}
	return nil
}

// nodesOf returns the sorted names of the nodes with unfinished pods of the job, or of an earlier job of its name.
func nodesOf(o *state.Observed) []string {
	names := map[string]bool{}
	for _, pods := range [][]state.Pod{o.Pods, o.Found, o.Former, o.Gone} {
		for i := range pods {
			if pods[i].Scheduled() && pods[i].CanRun() {
				names[pods[i].Node] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
