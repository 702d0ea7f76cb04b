package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
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
			&corev1.Pod{}:           {Label: children, Transform: newShared().trimPod},
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
