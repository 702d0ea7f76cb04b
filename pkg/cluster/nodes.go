package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
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

// addNodesOfExits adds the nodes that are to be left and hold no pod of the job any more, but one had ended there, and that was charged: what they say of themselves
// may explain it.
func (c *Cluster) addNodesOfExits(ctx context.Context, o *state.Observed) error {
	names := map[string]bool{}
	for _, i := range o.Job.Status.Incidents {
		if i.Charged && !i.Explained && i.Node != "" {
			names[i.Node] = true
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
	avoided := avoidedNow(s)
	heeds := s.HeedsIllNodes() && (isToLeave(s) || placesPods(s))
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
	if len(avoided)+len(ill) == 0 && !isToLeave(s) {
		return nil
	}
	shapes := shapesOf(s.Job)
	usable := c.usableNodes(all.Items, shapes)
	others := slices.DeleteFunc(slices.Clone(usable), func(node *corev1.Node) bool {
		return avoided[node.Name] || heeds && c.nodeOf(node).Action > state.IgnoreNode
	})
	s.Ill, s.Usable = firstIll(ill, shapes), &state.Usable{Others: len(others)}
	if isToLeave(s) {
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

// isToLeave reports whether the job has pods on a node that they are to leave.
func isToLeave(s *state.Snapshot) bool {
	return slices.ContainsFunc(s.Nodes, func(n state.Node) bool { return n.Action == state.MoveFromNode })
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
const maxIll = 16

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

// shapes are what the pods of a job's roles ask of a node.
type shapes []shape

type shape struct {
	role        v1alpha1.Role
	affinity    nodeaffinity.RequiredNodeAffinity
	requests    corev1.ResourceList
	tolerations []corev1.Toleration
}

func shapesOf(job *v1alpha1.TrainingJob) shapes {
	var all shapes
	for role, replicas := range job.Spec.ReplicaSpecs {
		pod := &corev1.Pod{Spec: replicas.Template.Spec}
		all = append(all, shape{role, nodeaffinity.GetRequiredNodeAffinity(pod), requestsOf(pod), pod.Spec.Tolerations})
	}
	return all
}

// take reports whether pods of some role could run on the node if it were empty: they tolerate its taints, ask for a node like it, and for no more
// than it has.
func (s shapes) take(node *corev1.Node) bool {
	return slices.ContainsFunc(s, func(s shape) bool { return s.tolerates(node) && s.suits(node) })
}

// byRole returns how many of the nodes pods of each role could take.
func (s shapes) byRole(nodes []*corev1.Node) map[v1alpha1.Role]int {
	counts := map[v1alpha1.Role]int{}
	for i := range s {
		for _, node := range nodes {
			counts[s[i].role] += one(s[i].tolerates(node) && s[i].suits(node))
		}
	}
	return counts
}

// suit reports the same, whatever the node's taints.
func (s shapes) suit(node *corev1.Node) bool {
	return slices.ContainsFunc(s, func(s shape) bool { return s.suits(node) })
}

// tolerate reports whether pods of some role tolerate the node's taints.
func (s shapes) tolerate(node *corev1.Node) bool {
	return slices.ContainsFunc(s, func(s shape) bool { return s.tolerates(node) })
}

func (s *shape) suits(node *corev1.Node) bool {
	matches, err := s.affinity.Match(node)
	return matches && err == nil && fits(s.requests, node.Status.Allocatable)
}

func (s *shape) tolerates(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return isRepelledBy(&t, s.tolerations) })
}

// requestsOf returns what the pod of a template asks for. What has a limit only asks for as much, as the API server will say of the pod.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	requests := resource.PodLimits(pod, resource.PodResourcesOptions{})
	maps.Copy(requests, resource.PodRequests(pod, resource.PodResourcesOptions{}))
	return requests
}

func fits(requests, allocatable corev1.ResourceList) bool {
	for name, quantity := range requests {
		if has := allocatable[name]; quantity.Cmp(has) > 0 {
			return false
		}
	}
	return true
}

func isRepelledBy(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
		!slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, false) })
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
