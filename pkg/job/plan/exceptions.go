package plan

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// planOfDeleted returns the plan for a deleted job that exists until its last pod is gone: all pods end, with their own grace periods, and the status counts them.
func planOfDeleted(s *state.Snapshot) Plan {
	p := Plan{Status: *s.Job.Status.DeepCopy()}
	p.Status.ObservedGeneration = s.Job.Generation
	observe(s, &p.Status)
	steps, wake := deletePods(s, func(state.Pod) bool { return true }, WhyJobDeleted)
	p.Steps = firstWrites(slices.Concat(steps, deleteSpares(s)))
	p.Wake = state.Earliest(wake, policy.NextLoss(s))
	if due := s.Recorded.Add(recordEvery); s.Now.Before(due) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, p.Wake = s.Job.Status, state.Earliest(p.Wake, due)
	}
	return p
}

// stalledStatus returns the status of a job that waits until a person acts, and why.
func stalledStatus(s *state.Snapshot, reason, message string) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	c := conditions{s, &next}
	c.set(v1alpha1.ConditionStalled, true, reason, state.Printable(message))
	slices.SortFunc(next.Conditions, byOrder)
	next.Phase = phaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	return next
}

// ForeignMessage explains a pod of a life that the job never had, and how to go on. The operator cannot decide which of the pods
// belong to the job. A job without a status was most likely restored from a backup beside its pods.
func ForeignMessage(s *state.Snapshot) string {
	job := s.Job
	if job.Status.StartTime != nil {
		return fmt.Sprintf("The operator did not create pod %s, whose life this job never had: another client created it in the job's name. The job waits until the pod is deleted: "+
			"kubectl delete pod %s --namespace %s", s.Foreign, s.Foreign, job.Namespace)
	}
	latest := 0
	for i := range s.Pods {
		latest = max(latest, s.Pods[i].Life.Attempt)
	}
	return fmt.Sprintf("The job has no status but has pods, such as %s: it was restored without its status, or another client created the pods. The job waits "+
		"until they are deleted: kubectl delete pods --namespace %s --selector %s=%s. To number attempts after their checkpoints, first run: "+
		"kubectl annotate trainingjob %s --namespace %s %s=%d",
		s.Foreign, job.Namespace, v1alpha1.LabelJobUID, job.UID, job.Name, job.Namespace, v1alpha1.AnnotationFirstAttempt, latest+1)
}
