package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
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
	if err := c.doubtMassLoss(ctx, s); err != nil {
		return err
	}
	return c.addUsable(ctx, s)
}

// addUsable tells a job that avoids nodes which others there are, and which of those it could take again.
func (c *Cluster) addUsable(ctx context.Context, s *state.Snapshot) error {
	avoided := map[string]bool{}
	for _, n := range s.Job.Status.AvoidedNodes {
		if s.Now.Before(n.Until.Time) {
			avoided[n.Name] = true
		}
	}
	if len(avoided) == 0 {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	s.Usable = &state.Usable{}
	for i := range all.Items {
		switch node := &all.Items[i]; {
		case !c.isUsable(node, s.Job):
		case avoided[node.Name]:
			s.Usable.Avoided = append(s.Usable.Avoided, node.Name)
		default:
			s.Usable.Others++
		}
	}
	slices.Sort(s.Usable.Avoided)
	return nil
}

// isUsable reports whether the node is well, and pods of some role of the job tolerate its taints.
func (c *Cluster) isUsable(node *corev1.Node, job *v1alpha1.TrainingJob) bool {
	if node.Spec.Unschedulable || state.NodeOf(node, c.options.LostAfter, c.options.LostTaints).Lost.Reason != "" {
		return false
	}
	for _, replicas := range job.Spec.ReplicaSpecs {
		if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return isRepelledBy(&t, replicas.Template.Spec.Tolerations) }) {
			return true
		}
	}
	return false
}

func isRepelledBy(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
		!slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, false) })
}

// mostNodes is the part of all nodes from which on it is likelier that the control plane has lost touch than that they are
// all lost; the node controller of Kubernetes has the same threshold.
const mostNodes = 0.55

// together is within which time nodes cease to be ready if the control plane has lost touch with them.
const together = 5 * time.Minute

// doubtFor is how long the control plane may have lost touch: nodes that are off for longer are off.
const doubtFor = time.Hour

// doubtMassLoss puts off the loss of nodes that ceased to be ready together with most nodes of the cluster: every job
// restarting at once would help nobody.
func (c *Cluster) doubtMassLoss(ctx context.Context, s *state.Snapshot) error {
	if !slices.ContainsFunc(s.Nodes, isNotReady) {
		return nil
	}
	var all corev1.NodeList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var notReady []time.Time
	for i := range all.Items {
		if n := state.NodeOf(&all.Items[i], 0, nil); isNotReady(n) {
			notReady = append(notReady, n.Since)
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !isNotReady(*n) || s.Now.Sub(n.Since) > doubtFor || !isMassLoss(n.Since, notReady, len(all.Items)) {
			continue
		}
		if n.Lost.Time.Before(s.Now.Add(c.options.LostAfter)) {
			n.Lost.Time = s.Now.Add(c.options.LostAfter)
		}
	}
	return nil
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
