package server

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Source is where a reader finds objects: a Cache, or the server's truth.
type Source interface {
	Get(kind Kind, key client.ObjectKey) client.Object
	List(kind Kind) []client.Object
}

// Truth returns the source that is never behind.
func (s *Server) Truth() Source { return truth{s} }

type truth struct{ server *Server }

// Get returns the object as it is.
func (t truth) Get(kind Kind, key client.ObjectKey) client.Object {
	return t.server.stores[kind].get(key)
}

// List returns the objects as they are.
func (t truth) List(kind Kind) []client.Object { return t.server.stores[kind].list() }

// Reader is a client.Reader of a source.
type Reader struct {
	Source Source
	// Indexes are the field indexes of pods by name.
	Indexes map[string]client.IndexerFunc
	// Before, if set, is called before each read, which fails with the error it returns.
	Before func(kind Kind, key client.ObjectKey) error
	// Await, if set, waits until the source shows the reader's own writes. A list that does not ask for it does without.
	Await func(kind Kind)
}

func (r *Reader) await(kind Kind) {
	if r.Await != nil {
		r.Await(kind)
	}
}

// Get copies the object into o; of a node it shares what it holds, if the options ask for that.
func (r *Reader) Get(_ context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	kind := KindOf(o)
	if r.Before != nil {
		if err := r.Before(kind, key); err != nil {
			return err
		}
	}
	r.await(kind)
	found := r.Source.Get(kind, key)
	if found == nil {
		return apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	shared := (&client.GetOptions{}).ApplyOptions(options).UnsafeDisableDeepCopy
	if node, isNode := o.(*corev1.Node); isNode && ptr.Deref(shared, false) {
		*node = *found.(*corev1.Node)
		return nil
	}
	copyInto(o, found)
	return nil
}

// List puts what the options choose into list.
func (r *Reader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := kindOfList(list)
	o := (&client.ListOptions{}).ApplyOptions(options)
	if r.Before != nil {
		if err := r.Before(kind, client.ObjectKey{Namespace: o.Namespace}); err != nil {
			return err
		}
	}
	if !o.DisableReadYourWritesConsistency {
		r.await(kind)
	}
	shared := ptr.Deref(o.UnsafeDisableDeepCopy, false)
	found := slices.DeleteFunc(slices.Clone(r.Source.List(kind)), func(item client.Object) bool { return !r.matches(item, o) })
	if pods, isPods := list.(*corev1.PodList); isPods {
		pods.Items = slices.Grow(pods.Items, len(found)) // they are large, and there may be many
	}
	for _, item := range found {
		if _, metadataOnly := list.(*metav1.PartialObjectMetadataList); !shared && !metadataOnly {
			item = clone(item)
		}
		appendTo(list, item)
	}
	return nil
}

func (r *Reader) matches(item client.Object, o *client.ListOptions) bool {
	switch {
	case o.Namespace != "" && o.Namespace != item.GetNamespace():
		return false
	case o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(item.GetLabels())):
		return false
	case o.FieldSelector == nil:
		return true
	}
	for _, wanted := range o.FieldSelector.Requirements() {
		index, known := r.Indexes[wanted.Field]
		if !known {
			panic(fmt.Sprintf("no index of pods is called %q", wanted.Field))
		}
		if !slices.Contains(index(item), wanted.Value) {
			return false
		}
	}
	return true
}

func kindOfList(list client.ObjectList) Kind {
	switch list := list.(type) {
	case *v1alpha1.TrainingJobList:
		return Jobs
	case *corev1.PodList:
		return Pods
	case *corev1.ServiceList:
		return Services
	case *corev1.NodeList:
		return Nodes
	case *schedulingv1beta1.PodGroupList:
		return PodGroups
	case *metav1.PartialObjectMetadataList:
		for _, kind := range Kinds {
			if kind.GroupKind().Kind+"List" == list.Kind {
				return kind
			}
		}
	}
	panic(fmt.Sprintf("the server does not store what a %T lists", list))
}

func appendTo(list client.ObjectList, item client.Object) {
	switch list := list.(type) {
	case *v1alpha1.TrainingJobList:
		list.Items = append(list.Items, *item.(*v1alpha1.TrainingJob))
	case *corev1.PodList:
		list.Items = append(list.Items, *item.(*corev1.Pod))
	case *corev1.ServiceList:
		list.Items = append(list.Items, *item.(*corev1.Service))
	case *corev1.NodeList:
		list.Items = append(list.Items, *item.(*corev1.Node))
	case *schedulingv1beta1.PodGroupList:
		list.Items = append(list.Items, *item.(*schedulingv1beta1.PodGroup))
	case *metav1.PartialObjectMetadataList:
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: item.GetName(), Namespace: item.GetNamespace(), UID: item.GetUID(), ResourceVersion: item.GetResourceVersion(),
			Labels: item.GetLabels(), OwnerReferences: item.GetOwnerReferences(), DeletionTimestamp: item.GetDeletionTimestamp(),
		}})
	}
}

// copyInto copies one object into another of its kind.
func copyInto(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.TrainingJob:
		from.(*v1alpha1.TrainingJob).DeepCopyInto(to)
	case *corev1.Pod:
		from.(*corev1.Pod).DeepCopyInto(to)
	case *corev1.Service:
		from.(*corev1.Service).DeepCopyInto(to)
	case *corev1.Node:
		from.(*corev1.Node).DeepCopyInto(to)
	case *schedulingv1beta1.PodGroup:
		from.(*schedulingv1beta1.PodGroup).DeepCopyInto(to)
	}
}
