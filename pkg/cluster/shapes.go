package cluster

import (
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

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
