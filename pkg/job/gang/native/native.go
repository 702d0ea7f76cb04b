// Package native makes a gang of a job's pods with Kubernetes' own PodGroup.
//
// Source: k8s.io/api/scheduling/v1beta1 (KEP-4671), served by Kubernetes 1.37 with the feature gate GenericWorkload and
// --runtime-config=scheduling.k8s.io/v1beta1=true.
package native

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Provider is Kubernetes' own gang scheduling.
type Provider struct{}

// Name returns Native.
func (Provider) Name() v1alpha1.Gang { return v1alpha1.GangNative }

// Empty returns an empty PodGroup, and an empty list.
func (Provider) Empty() (state.Object, state.ObjectList) {
	return &schedulingv1beta1.PodGroup{}, &schedulingv1beta1.PodGroupList{}
}

// Group returns the PodGroup. It has the priority class of its pods: the scheduler refuses a group whose pods have another priority. A
// collective is preempted as a whole, because losing one rank ends the others anyway.
func (p Provider) Group(t state.GangTerms) state.Object {
	group := &schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy:  schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: t.Minimum}},
		PriorityClassName: t.Scheduling.PriorityClassName,
	}}
	if t.Together {
		group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	}
	if topology := t.Scheduling.Topology; p.Constrains(topology) {
		group.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
			Topology: []schedulingv1beta1.TopologyConstraint{{Key: topology.Key}},
		}
	}
	return group
}

// Resize sets gang.minCount.
func (Provider) Resize(minimum int32) map[string]any {
	return map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": minimum}}}
}

// Join names the group in the pod's spec.
func (Provider) Join(pod *corev1.Pod, group string) {
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
}

// Follow does nothing: Kubernetes' scheduler places every pod.
func (Provider) Follow(*corev1.Pod, *v1alpha1.Scheduling) {}

// Read returns the group's gang.minCount, and the scheduler's word while it has not placed it.
func (Provider) Read(o state.Object) (minimum int32, waiting state.Trouble) {
	group, isGroup := o.(*schedulingv1beta1.PodGroup)
	if !isGroup {
		return 0, state.Trouble{}
	}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		minimum = gang.MinCount
	}
	if c := meta.FindStatusCondition(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled); c != nil && c.Status == "False" {
		waiting = state.Trouble{Reason: state.Cut(c.Reason, state.MaxWords), Message: state.Cut(c.Message, state.MaxMessage), Time: c.LastTransitionTime.Time}
	}
	return minimum, waiting
}

// Trim keeps gang.minCount and whether the group was placed.
func (p Provider) Trim(o state.Object, metadata metav1.ObjectMeta) state.Object {
	group, isGroup := o.(*schedulingv1beta1.PodGroup)
	if !isGroup {
		return nil
	}
	trimmed := &schedulingv1beta1.PodGroup{ObjectMeta: metadata}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		trimmed.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: gang.MinCount}
	}
	if _, waiting := p.Read(o); waiting != (state.Trouble{}) {
		trimmed.Status.Conditions = []metav1.Condition{{
			Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
			Reason: waiting.Reason, Message: waiting.Message, LastTransitionTime: metav1.NewTime(waiting.Time),
		}}
	}
	return trimmed
}

// Constrains reports whether the topology is Required. A constraint of the group knows no preference, so the affinity of the pods keeps a
// Preferred one.
func (Provider) Constrains(topology *v1alpha1.Topology) bool {
	return topology != nil && topology.Mode == v1alpha1.TopologyRequired
}
