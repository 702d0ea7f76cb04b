package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// CacheOptions returns the options of a cache that holds only jobs and their children, trimmed to what decisions need, in these
// namespaces, or in all if there are none. Of nodes it keeps the conditions that are signals.
func CacheOptions(namespaces []string, signals nodes.Signals) (cache.Options, error) {
	ours, err := labels.NewRequirement(v1alpha1.LabelJobUID, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	children := labels.NewSelector().Add(*ours)
	options := cache.Options{
		DefaultTransform: trimChild,
		// of everything else, children only: pod groups cannot be named here, because a cluster may not have them
		DefaultLabelSelector: children,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:           {Label: children, Transform: (&shared{}).trimPod},
			&v1alpha1.TrainingJob{}: {Label: labels.Everything(), Transform: newTemplates().trimJob},
			&corev1.Node{}:          {Label: labels.Everything(), Transform: trimNode(signals)},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options, nil
}

// identity returns the kept part of an object's metadata: its name, its controller, and the labels and annotations of those
// names. Other metadata, such as a thousand owner references, is dropped.
func identity(o metav1.Object, names ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: o.GetDeletionGracePeriodSeconds(), OwnerReferences: ownerAlone(o),
		Annotations: only(o.GetAnnotations(), names...),
	}
}

// ownerAlone returns the reference to the TrainingJob that owns the object, else the one to its controller. References to TrainingJobs
// share one copy of what they have in common: each object brings its own.
func ownerAlone(o metav1.Object) []metav1.OwnerReference {
	ref := state.OwnerOf(o)
	if ref == nil {
		ref = metav1.GetControllerOfNoCopy(o)
	}
	if ref == nil {
		return nil
	}
	kept := *ref
	kept.Controller = &controls // also beside a Kubeflow job, which is left out
	if kept.Kind == v1alpha1.Kind && kept.APIVersion == apiVersion {
		kept.Kind, kept.APIVersion = v1alpha1.Kind, apiVersion
	}
	return []metav1.OwnerReference{kept}
}

var (
	apiVersion = v1alpha1.GroupVersion.String()
	controls   = true
)

// only returns the labels or annotations of those names, each cut to the length that counts.
func only(texts map[string]string, names ...string) map[string]string {
	var kept map[string]string
	for _, name := range names {
		if value, found := texts[name]; found {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = state.Cut(value, state.MaxWords)
		}
	}
	return kept
}

// trimChild returns a Service or a pod group with only what decisions read. Users may write them, and attach a
// megabyte to each. A trimmed object is never written back: the API server gets patches and deletions with the UID.
func trimChild(o any) (any, error) {
	switch child := o.(type) {
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: identity(child)}, nil
	case state.Object:
		return trimGroup(child), nil
	}
	return o, nil
}

// trimGroup trims a pod group. Groups are listed by the label of their job.
func trimGroup(o state.Object) state.Object {
	metadata := identity(o)
	metadata.Labels = only(o.GetLabels(), v1alpha1.LabelJobUID)
	for _, provider := range gang.Providers {
		if trimmed := provider.Trim(o, metadata); trimmed != nil {
			return trimmed
		}
	}
	return o
}

// trimNode returns the function that trims a node to what pkg/job/nodes reads. Heartbeats then change nothing, nor do conditions that
// are not True or no signals.
func trimNode(signals nodes.Signals) func(any) (any, error) {
	return func(o any) (any, error) {
		node, ok := o.(*corev1.Node)
		if !ok {
			return o, nil
		}
		trimmed := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
			Spec:       corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Allocatable: node.Status.Allocatable, Capacity: devices(node.Status.Capacity)},
		}
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			kept := corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}
			switch isSignal := signals.Match(c); {
			case c.Type != corev1.NodeReady && !isSignal:
				continue
			case isSignal:
				kept.Reason, kept.Message = c.Reason, c.Message
			}
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, kept)
		}
		return trimmed, nil
	}
}

// devices returns the part of a capacity that device plugins report; nil if there is none.
func devices(capacity corev1.ResourceList) corev1.ResourceList {
	var kept corev1.ResourceList
	for name, quantity := range capacity {
		if nodes.IsDevice(name) {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[name] = quantity
		}
	}
	return kept
}
