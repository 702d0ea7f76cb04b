package plan

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// standStill returns the status of a job that waits for a person to delete the pod that somebody made in its name: which of the
// pods are the job's cannot be told from here.
func standStill(s *state.Snapshot) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	c := conditions{s, &next}
	c.set(v1alpha1.ConditionStalled, true, v1alpha1.ReasonNameConflict, fmt.Sprintf(
		"Pod %s is of a life that this job never had: somebody else made it in the job's name. Nothing is done for the job until it is deleted: kubectl delete pod %s --namespace %s",
		s.Foreign, s.Foreign, s.Job.Namespace))
	slices.SortFunc(next.Conditions, byOrder)
	next.Phase = PhaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	return next
}
