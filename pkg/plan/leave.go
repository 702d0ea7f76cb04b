package plan

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// isLeaving reports whether a deleted job exists until its last pod is gone. The garbage collector then does not delete the pods:
// in the background it waits for the job to go first.
func isLeaving(job *v1alpha1.TrainingJob) bool {
	return !job.DeletionTimestamp.IsZero() && slices.Contains(job.Finalizers, v1alpha1.FinalizerQuota)
}

// leave returns the plan for a job that is leaving: all pods end, with their own grace periods, and the status counts them.
func leave(s *state.Snapshot) Plan {
	v := policy.Verdict{Facts: policy.Facts{Scopes: failure.Scopes(&s.Job.Spec)}}
	p := Plan{Status: *s.Job.Status.DeepCopy()}
	p.Status.ObservedGeneration = s.Job.Generation
	p.Status.ReplicaStatuses = observe(s, &v)
	countReady(s, &p.Status)
	steps, wake := deletePods(s, func(state.Pod) bool { return true }, WhyJobDeleted)
	p.Steps = firstWrites(slices.Concat(steps, deleteSpares(s, s.Spares)))
	p.Wake = state.Earliest(wake, nextForcedSpare(s), policy.NextLoss(s))
	if due := s.Recorded.Add(recordEvery); s.Now.Before(due) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, p.Wake = s.Job.Status, state.Earliest(p.Wake, due)
	}
	return p
}
