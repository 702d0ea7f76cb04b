package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	return nil
}

// nodesOf returns the names of the nodes that hold pods of the job which have not finished, sorted.
func nodesOf(s *state.Snapshot) []string {
	var names []string
	for _, pods := range [][]state.Pod{s.Pods, s.Spares} {
		for i := range pods {
			if pods[i].Scheduled() && pods[i].CanRun() {
				names = append(names, pods[i].Node)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
