package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
)

// waitedInVain reports whether a rank has ended by itself while another one of its collective, as far as the writer sees, never ran and has no node.
func (c *Checker) waitedInVain(job *v1alpha1.TrainingJob, i *v1alpha1.Incident) bool {
	isRank := func(role v1alpha1.Role) bool { return role.IsLeader() || role == v1alpha1.Worker }
	if c.writer == nil || i.ExitCode == nil || !isRank(i.Role) || !isCollective(&job.Spec) || job.Spec.Elastic != nil {
		return false
	}
	memory := memoryOf(job)
	return slices.ContainsFunc(c.writer.Process.Cache.List(server.Pods), func(o client.Object) bool {
		pod := o.(*corev1.Pod)
		slot, life, _, named := livesIn(job.Name, pod)
		lacksNode := pod.Spec.NodeName == "" && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil
		return named && lacksNode && isRank(slot.Role) && inRange(job, slot) && life == lifeIn(job, memory, slot) && !memory[slot.Role].Started.Has(slot.Index)
	})
}

// lacksPeer reports whether another rank of its collective has never run in this attempt, and has no pod: the API server may refuse it.
func (c *Checker) lacksPeer(job *v1alpha1.TrainingJob, i *v1alpha1.Incident) bool {
	if i.ExitCode == nil || !isCollective(&job.Spec) || job.Spec.Elastic != nil {
		return false
	}
	memory := memoryOf(job)
	for role, replicas := range job.Spec.ReplicaSpecs {
		for index := range int(*replicas.Replicas) {
			slot := state.Slot{Role: role, Index: index}
			isIt := func(pod *corev1.Pod) bool {
				has, life, _, named := livesIn(job.Name, pod)
				return named && has == slot && life == lifeIn(job, memory, slot)
			}
			if (role.IsLeader() || role == v1alpha1.Worker) && !memory[role].Started.Has(index) && !slices.ContainsFunc(c.world.Pods(), isIt) {
				return true
			}
		}
	}
	return false
}

// mayHaveMissed reports whether the rank of an elastic job exited within 10 s of the loss of another one, or of its restart: it may have needed it.
func mayHaveMissed(job *v1alpha1.TrainingJob, i *v1alpha1.Incident) bool {
	return job.Spec.Elastic != nil && i.ExitCode != nil && slices.ContainsFunc(job.Status.Incidents, func(known v1alpha1.Incident) bool {
		isLoss := known.Cause == v1alpha1.CauseInfrastructure || known.Cause == v1alpha1.CausePreempted
		return isLoss && min(i.Time.Sub(known.Time.Time).Abs(), i.Time.Sub(known.RestartTime.Time).Abs(), i.RestartTime.Sub(known.RestartTime.Time)) <= 10*time.Second
	})
}
