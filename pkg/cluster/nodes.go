package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	for _, name := range nodesOf(o) {
		var node corev1.Node
		err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node)
		if apierrors.IsNotFound(err) || lostPod(o, name) {
			err = c.live.Get(ctx, client.ObjectKey{Name: name}, &node)
		}
		switch {
		case apierrors.IsNotFound(err):
			o.Nodes = append(o.Nodes, state.DeletedNode(name, o.Now))
		case err != nil:
			return fmt.Errorf("reading node %s: %w", name, err)
		default:
			if n := state.NodeOf(&node, c.options.LostAfter, c.options.LostTaints); n.Lost.Reason != "" {
				o.Nodes = append(o.Nodes, n)
			}
		}
	}
	if err := c.addNotReady(ctx, o); err != nil {
		return err
	}
	return c.addUsable(ctx, o)
}

// lostPod reports whether a pod has gone from the node: what came before that, as a taint, the API server knows, and the cache may not yet.
func lostPod(o *state.Observed, node string) bool {
	return slices.ContainsFunc(o.Gone, func(p state.Pod) bool { return p.Node == node })
}

// addUsable tells a job that avoids nodes which others there are, and which of those it could take again.
func (c *Cluster) addUsable(ctx context.Context, o *state.Observed) error {
	avoided := map[string]bool{}
	for _, n := range o.Job.Status.AvoidedNodes {
		if o.Now.Before(n.Until.Time) {
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
	o.Usable = &state.Usable{}
	suits := suitable(o.Job)
	for i := range all.Items {
		switch node := &all.Items[i]; {
		case !c.isWell(node) || !suits(node):
		case avoided[node.Name]:
			o.Usable.Avoided = append(o.Usable.Avoided, node.Name)
		default:
			o.Usable.Others++
		}
	}
	slices.Sort(o.Usable.Avoided)
	return nil
}

// isWell reports whether the node takes new pods.
func (c *Cluster) isWell(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && state.NodeOf(node, c.options.LostAfter, c.options.LostTaints).Lost.Reason == ""
}

// suitable returns what reports whether pods of some role of the job could run on a node if it were empty: they tolerate its taints,
// ask for a node like it, and for no more than it has.
func suitable(job *v1alpha1.TrainingJob) func(*corev1.Node) bool {
	var roles []func(*corev1.Node) bool
	for _, replicas := range job.Spec.ReplicaSpecs {
		pod := &corev1.Pod{Spec: replicas.Template.Spec}
		affinity, requests := nodeaffinity.GetRequiredNodeAffinity(pod), requestsOf(pod)
		roles = append(roles, func(node *corev1.Node) bool {
			matches, err := affinity.Match(node)
			isRepelled := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return isRepelledBy(&t, pod.Spec.Tolerations) })
			return matches && err == nil && !isRepelled && fits(requests, node.Status.Allocatable)
		})
	}
	return func(node *corev1.Node) bool {
		return slices.ContainsFunc(roles, func(suits func(*corev1.Node) bool) bool { return suits(node) })
	}
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
	var names []string
	for _, pods := range [][]state.Pod{o.Pods, o.Spares, o.Former, o.Gone} {
		for i := range pods {
			if pods[i].Scheduled() && pods[i].CanRun() {
				names = append(names, pods[i].Node)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
