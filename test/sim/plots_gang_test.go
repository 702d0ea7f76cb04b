package sim_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
)

// What the stories of gangs have in common.

// finished lets a slot succeed and waits until that is noted.
func (r *run) finished(slot string) {
	r.exit(0, slot)
	r.until("success is noted", func() bool { return r.Job().Status.Memory.Roles[v1alpha1.Worker].Succeeded != "" })
}

// grouped wants one group, with that name and minimum.
func (r *run) grouped(name string, minimum int32) {
	r.until("group "+name+" alone", func() bool {
		groups := r.Server.List(server.PodGroups)
		return len(groups) == 1 && groups[0].GetName() == name && groups[0].(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount == minimum
	})
}

// ungrouped waits until there is no group.
func (r *run) ungrouped() {
	r.until("no group", func() bool { return len(r.Server.List(server.PodGroups)) == 0 })
}

// unbound wants no pod to have a node.
func (r *run) unbound() {
	if slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }) {
		r.check.Violate("17 gang: a part of the gang has nodes")
	}
}

// needsAtOnce sets how many pods of the gang are enough.
func (r *run) needsAtOnce(n int32) {
	r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Scheduling.MinAvailable = &n })
}

// waits waits until the job says why its pods have no node, in those words if there are any.
func (r *run) waits(reason, words string) {
	r.until("waits: "+reason, func() bool {
		c := meta.FindStatusCondition(r.Job().Status.Conditions, v1alpha1.ConditionScheduled)
		return c != nil && c.Reason == reason && c.Status == "False" && (words == "" || c.Message == words)
	})
}
