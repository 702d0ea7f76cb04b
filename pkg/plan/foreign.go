package plan

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// standStill returns the status of a job for which nothing is done until a person acts, and why.
func standStill(s *state.Snapshot, reason, message string) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	c := conditions{s, &next}
	c.set(v1alpha1.ConditionStalled, true, reason, state.Printable(message))
	slices.SortFunc(next.Conditions, byOrder)
	next.Phase = phaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	return next
}

// ForeignMessage describes the pod of a life that the job never had, and the way to continue. The operator cannot decide which pods are
// the job's. A job without a status was most likely restored from a backup beside its pods.
func ForeignMessage(s *state.Snapshot) string {
	job := s.Job
	if job.Status.StartTime != nil {
		return fmt.Sprintf("Pod %s has a life that this job never had: another client created it in the job's name. The job waits until it is deleted: "+
			"kubectl delete pod %s --namespace %s", s.Foreign, s.Foreign, job.Namespace)
	}
	latest := 0
	for i := range s.Pods {
		latest = max(latest, s.Pods[i].Life.Attempt)
	}
	return fmt.Sprintf("The job has no status, and pods of it exist, such as %s: it was restored without its status, or another client created the pods. The job "+
		"waits until they are deleted: kubectl delete pods --namespace %s --selector %s=%s. To begin behind their checkpoints, first run: "+
		"kubectl annotate trainingjob %s --namespace %s %s=%d",
		s.Foreign, job.Namespace, v1alpha1.LabelJobUID, job.UID, job.Name, job.Namespace, v1alpha1.AnnotationFirstAttempt, latest+1)
}
