package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// addNodes puts the nodes in trouble that hold pods of the job into the snapshot. A node that is not in the cache may be
// new; only the API server's word counts for its deletion.
func (c *Cluster) addNodes(ctx context.Context, s *state.Snapshot) error {
	if !c.options.WatchNodes {
		return nil
	}
	for _, name := range nodesOf(s) {
		var node corev1.Node
		err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node)
		if apierrors.IsNotFound(err) {
			err = c.live.Get(ctx, client.ObjectKey{Name: name}, &node)
		}
		switch {
		case apierrors.IsNotFound(err):
			s.Nodes = append(s.Nodes, state.DeletedNode(name, s.Now))
		case err != nil:
			return fmt.Errorf("reading node %s: %w", name, err)
		default:
			if n := state.NodeOf(&node, c.options.LostAfter, c.options.LostTaints); n.Lost.Reason != "" {
				s.Nodes = append(s.Nodes, n)
			}
		}
	}
	return c.doubtMassLoss(ctx, s)
}

// mostNodes is the part of all nodes from which on it is likelier that the control plane has lost touch than that they are
// all lost; the node controller of Kubernetes has the same threshold.
const mostNodes = 0.55

// doubtMassLoss puts off the loss of nodes that are not ready while most nodes of the cluster are not: every job restarting
// at once would help nobody.
func (c *Cluster) doubtMassLoss(ctx context.Context, s *state.Snapshot) error {
	if !slices.ContainsFunc(s.Nodes, isNotReady) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	notReady := 0
	for i := range all.Items {
		if isNotReady(state.NodeOf(&all.Items[i], 0, nil)) {
			notReady++
		}
	}
	if float64(notReady) < mostNodes*float64(len(all.Items)) {
		return nil
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; isNotReady(*n) && n.Lost.Time.Before(s.Now.Add(c.options.LostAfter)) {
			n.Lost.Time = s.Now.Add(c.options.LostAfter)
		}
	}
	return nil
}

func isNotReady(n state.Node) bool { return n.Lost.Reason == v1alpha1.ReasonNodeLost }

// nodesOf returns the names of the nodes that hold pods of the job, or of an earlier one of its name, which have not finished, sorted.
func nodesOf(s *state.Snapshot) []string {
	var names []string
	for _, pods := range [][]state.Pod{s.Pods, s.Spares, s.Former} {
		for i := range pods {
			if pods[i].Scheduled() && pods[i].CanRun() {
				names = append(names, pods[i].Node)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
