// Package gang says how a job's pods are scheduled all at once or not at all, by whichever scheduler can do so.
//
// A provider answers with values and does nothing:
//
//	Group(terms)      the pod group of one attempt, as the scheduler's API has it
//	Join(pod, group)  what makes a pod one of the group's
//	Read(object)      what the scheduler says of the group
//
// Decisions, newest first:
//   - Evaluators, and roles of a Custom job's own, join no group: the training does not need them, and a gang that counted them would wait for them,
//     be preempted with them and need their priority. Their pods are created when every pod of the gang has a node, so that they take none from it.
//   - One group per attempt: pods of the old attempt that are still ending would count in the new one's.
//   - The minimum is lowered as replicas finish, when one is replaced: a scheduler counts only pods that it placed.
package gang

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/gang/coscheduling"
	"github.com/trainingjob/operator/pkg/gang/native"
	"github.com/trainingjob/operator/pkg/gang/volcano"
	"github.com/trainingjob/operator/pkg/state"
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
	// Follow has the pod scheduled as those of the group are, on the account of the same queue, without making it one of them.
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
