package server

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Kind is one of the kinds that the server stores.
type Kind int

// The kinds.
const (
	Jobs Kind = iota
	Pods
	Services
	Nodes
	PodGroups
	Secrets
	kinds
)

// Kinds lists all kinds.
var Kinds = []Kind{Jobs, Pods, Services, Nodes, PodGroups, Secrets}

// String returns the name of the kind's resource: "pods".
func (k Kind) String() string { return k.Resource().Resource }

// Resource returns the group and resource of the kind.
func (k Kind) Resource() schema.GroupResource {
	switch k {
	case Jobs:
		return schema.GroupResource{Group: v1alpha1.Group, Resource: "trainingjobs"}
	case Pods:
		return schema.GroupResource{Resource: "pods"}
	case Services:
		return schema.GroupResource{Resource: "services"}
	case Nodes:
		return schema.GroupResource{Resource: "nodes"}
	case PodGroups:
		return schema.GroupResource{Group: schedulingv1beta1.GroupName, Resource: "podgroups"}
	default:
		return schema.GroupResource{Resource: "secrets"}
	}
}

// GroupKind returns the group and kind of the kind.
func (k Kind) GroupKind() schema.GroupKind {
	name := [kinds]string{v1alpha1.Kind, "Pod", "Service", "Node", "PodGroup", "Secret"}[k]
	return schema.GroupKind{Group: k.Resource().Group, Kind: name}
}

// KindOf returns the kind of an object; it panics for one that the server does not store.
func KindOf(o client.Object) Kind {
	switch o.(type) {
	case *v1alpha1.TrainingJob:
		return Jobs
	case *corev1.Pod:
		return Pods
	case *corev1.Service:
		return Services
	case *corev1.Node:
		return Nodes
	case *schedulingv1beta1.PodGroup:
		return PodGroups
	case *corev1.Secret:
		return Secrets
	default:
		panic(fmt.Sprintf("the server does not store a %T", o))
	}
}

// newObject returns an empty object of the kind.
func (k Kind) newObject() client.Object {
	switch k {
	case Jobs:
		return &v1alpha1.TrainingJob{}
	case Pods:
		return &corev1.Pod{}
	case Services:
		return &corev1.Service{}
	case Nodes:
		return &corev1.Node{}
	case PodGroups:
		return &schedulingv1beta1.PodGroup{}
	default:
		return &corev1.Secret{}
	}
}

// countsGenerations reports whether the kind's objects have a generation.
func (k Kind) countsGenerations() bool { return k == Jobs || k == Pods }

// needsVersion reports whether an update must name a resourceVersion, as updates of custom resources and PodGroups must.
func (k Kind) needsVersion() bool { return k == Jobs || k == PodGroups }
