// Package volcano makes a gang of a job's pods with Volcano's PodGroup.
//
// Source: volcano.sh/apis/pkg/apis/scheduling/v1beta1.
package volcano

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// scheduler is the name under which Volcano schedules.
const scheduler = "volcano"

// Provider is Volcano's gang scheduling.
type Provider struct{}

// Name returns Volcano.
func (Provider) Name() v1alpha1.Gang { return v1alpha1.GangVolcano }

// Empty returns an empty PodGroup, and an empty list.
func (Provider) Empty() (state.Object, state.ObjectList) {
	return &volcanov1beta1.PodGroup{}, &volcanov1beta1.PodGroupList{}
}

// Group returns the PodGroup.
func (p Provider) Group(t state.GangTerms) state.Object {
	group := &volcanov1beta1.PodGroup{Spec: volcanov1beta1.PodGroupSpec{
		MinMember: t.Minimum,
		Queue:     t.Scheduling.Queue, PriorityClassName: t.Scheduling.PriorityClassName,
	}}
	if topology := t.Scheduling.Topology; p.Constrains(topology) {
		mode := volcanov1beta1.SoftNetworkTopologyMode
		if topology.Mode == v1alpha1.TopologyRequired {
			mode = volcanov1beta1.HardNetworkTopologyMode
		}
		group.Spec.NetworkTopology = &volcanov1beta1.NetworkTopologySpec{Mode: mode, HighestTierAllowed: ptr.To(int(*topology.Tier))}
	}
	return group
}

// Resize sets minMember.
func (Provider) Resize(minimum int32) map[string]any {
	return map[string]any{"minMember": minimum}
}

// Join names the group in the pod's annotation, and Volcano as its scheduler unless the template names another.
func (Provider) Join(pod *corev1.Pod, group string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[volcanov1beta1.KubeGroupNameAnnotationKey] = group
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
}

// Follow names Volcano as the pod's scheduler unless the template names another, and the queue of the group that Volcano makes for a
// pod that has none.
func (Provider) Follow(pod *corev1.Pod, scheduling *v1alpha1.Scheduling) {
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
	if scheduling.Queue != "" {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[volcanov1beta1.QueueNameAnnotationKey] = scheduling.Queue
	}
}

// Read returns the group's minMember, and why the scheduler does not place the group. Its phase shows whether it waits: the condition
// Unschedulable stays after the group has been placed.
func (Provider) Read(o state.Object) (minimum int32, waiting state.Trouble) {
	group, isGroup := o.(*volcanov1beta1.PodGroup)
	if !isGroup {
		return 0, state.Trouble{}
	}
	if group.Status.Phase == volcanov1beta1.PodGroupPending || group.Status.Phase == volcanov1beta1.PodGroupInqueue {
		for _, c := range group.Status.Conditions {
			if c.Type == volcanov1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue {
				waiting = state.Trouble{Reason: state.Cut(c.Reason, state.MaxWords), Message: state.Cut(c.Message, state.MaxMessage), Time: c.LastTransitionTime.Time}
			}
		}
	}
	return group.Spec.MinMember, waiting
}

// Trim keeps minMember, the phase, and why the group is not placed.
func (p Provider) Trim(o state.Object, metadata metav1.ObjectMeta) state.Object {
	group, isGroup := o.(*volcanov1beta1.PodGroup)
	if !isGroup {
		return nil
	}
	trimmed := &volcanov1beta1.PodGroup{ObjectMeta: metadata, Spec: volcanov1beta1.PodGroupSpec{MinMember: group.Spec.MinMember}}
	if _, waiting := p.Read(o); waiting != (state.Trouble{}) {
		trimmed.Status.Phase = group.Status.Phase
		trimmed.Status.Conditions = []volcanov1beta1.PodGroupCondition{{
			Type: volcanov1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue,
			Reason: waiting.Reason, Message: waiting.Message, LastTransitionTime: metav1.NewTime(waiting.Time),
		}}
	}
	return trimmed
}

// Constrains reports whether the topology names a tier. Volcano keeps a topology by tiers of HyperNodes, not by a label of nodes; without a
// tier the affinity of the pods keeps it.
func (Provider) Constrains(topology *v1alpha1.Topology) bool {
	return topology != nil && topology.Tier != nil
}
