// Package gang has a job's pods scheduled all at once or not at all, by each scheduler that can do so.
//
// A provider is pure: it returns values and does nothing else.
//
//	Group(terms)      the pod group of one attempt, as the scheduler's API has it
//	Join(pod, group)  makes a pod one of the group's
//	Read(object)      the minimum of the group, and why it waits
package gang

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang/coscheduling"
	"github.com/trainingjob/operator/pkg/job/gang/native"
	"github.com/trainingjob/operator/pkg/job/gang/volcano"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Provider is one way to schedule a gang.
type Provider interface {
	// Name returns the provider as scheduling.gang has it.
	Name() v1alpha1.Gang
	// Empty returns an empty group, and an empty list of them.
	Empty() (state.Object, state.ObjectList)
	// Group returns the group on those terms, without its metadata.
	Group(t state.GangTerms) state.Object
	// Resize returns the part of a group's spec that sets another minimum, as a merge patch.
	Resize(minimum int32) map[string]any
	// Join makes the pod one of the group's.
	Join(pod *corev1.Pod, group string)
	// Follow lets the scheduler of the group place the pod, in the same queue, without making it a member.
	Follow(pod *corev1.Pod, scheduling *v1alpha1.Scheduling)
	// Read returns the minimum of a group, and why it waits; the zero values for an object that is none of the provider's.
	Read(group state.Object) (minimum int32, waiting state.Trouble)
	// Trim returns a group with this metadata and of the rest only what Read reads; nil for an object that is none of the provider's.
	Trim(group state.Object, metadata metav1.ObjectMeta) state.Object
	// Constrains reports whether the group itself keeps the topology, so that its pods need no affinity.
	Constrains(topology *v1alpha1.Topology) bool
}

// Providers are all there are.
var Providers = []Provider{native.Provider{}, volcano.Provider{}, coscheduling.Provider{}}

// For returns the provider of that name; nil for None.
func For(name v1alpha1.Gang) Provider {
	for _, p := range Providers {
		if p.Name() == name {
			return p
		}
	}
	return nil
}
