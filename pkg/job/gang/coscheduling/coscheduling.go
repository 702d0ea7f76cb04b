// Package coscheduling makes a gang of a job's pods with the PodGroup of the coscheduling plug-in.
//
// Source: sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1, pkg/coscheduling.
package coscheduling

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coschedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// scheduler is the name under which the plug-ins' scheduler is installed by their own chart.
const scheduler = "scheduler-plugins-scheduler"

// Provider is the coscheduling plug-in's gang scheduling.
type Provider struct{}

// Name returns Coscheduling.
func (Provider) Name() v1alpha1.Gang { return v1alpha1.GangCoscheduling }

// Empty returns an empty PodGroup, and an empty list.
func (Provider) Empty() (state.Object, state.ObjectList) {
	return &coschedulingv1alpha1.PodGroup{}, &coschedulingv1alpha1.PodGroupList{}
}

// Group returns the PodGroup.
func (Provider) Group(t state.GangTerms) state.Object {
	return &coschedulingv1alpha1.PodGroup{Spec: coschedulingv1alpha1.PodGroupSpec{MinMember: t.Minimum}}
}

// Resize sets minMember.
func (Provider) Resize(minimum int32) map[string]any {
	return map[string]any{"minMember": minimum}
}

// Join names the group in the pod's label, and the plug-ins' scheduler unless the template names another.
func (Provider) Join(pod *corev1.Pod, group string) {
	pod.Labels[coschedulingv1alpha1.PodGroupLabel] = group
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
}

// Follow names the plug-ins' scheduler unless the template names another.
func (Provider) Follow(pod *corev1.Pod, _ *v1alpha1.Scheduling) {
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
}

// Read returns the group's minMember. The plug-in writes only into the pods why a group waits.
func (Provider) Read(o state.Object) (minimum int32, waiting state.Trouble) {
	group, isGroup := o.(*coschedulingv1alpha1.PodGroup)
	if !isGroup {
		return 0, state.Trouble{}
	}
	return group.Spec.MinMember, state.Trouble{}
}

// Trim keeps minMember.
func (Provider) Trim(o state.Object, metadata metav1.ObjectMeta) state.Object {
	group, isGroup := o.(*coschedulingv1alpha1.PodGroup)
	if !isGroup {
		return nil
	}
	return &coschedulingv1alpha1.PodGroup{ObjectMeta: metadata, Spec: coschedulingv1alpha1.PodGroupSpec{MinMember: group.Spec.MinMember}}
}

// Constrains returns false: the plug-in knows no topology.
func (Provider) Constrains(*v1alpha1.Topology) bool { return false }
