package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/state"
)

// OfJob returns what one job is like now.
func OfJob(job *v1alpha1.TrainingJob, now time.Time) []Observation {
	status := &job.Status
	var list []Observation
	add := func(family *Family, value float64, labels ...string) {
		list = append(list, family.with(value, append([]string{job.Namespace, job.Name}, labels...)...))
	}
	add(JobInfo, 1, string(job.Spec.Framework), state.QueueOf(job), string(job.UID))
	add(JobPhase, 1, string(status.Phase))
	add(JobReplicas, float64(status.Replicas))
	add(JobReadyReplicas, float64(status.ReadyReplicas))
	add(JobAttempt, float64(status.Attempt))
	add(JobRestarts, float64(status.Restarts))
	add(JobChargedRestarts, float64(status.ChargedRestarts))
	add(JobRunning, state.RunningFor(status, now).Seconds())
	for _, lost := range lostByCause(&status.LostSeconds) {
		add(JobLost, float64(lost.seconds), lost.cause)
	}
	if ratio, ok := state.RunningTimeRatio(status, now); ok {
		add(JobRatio, ratio)
	}
	if p := status.Progress; p != nil {
		add(JobStep, float64(p.Step))
		addAge(add, status, JobProgressAge, p.RenewTime, now)
		addAge(add, status, JobCheckpointAge, p.CheckpointTime, now)
	}
	for _, b := range status.Budgets {
		add(JobBudgetLeft, float64(budgetLeft(job, &b, now)), budgetLabel(b.Name))
	}
	return list
}

// addAge adds how old something is, if the job runs and it is known: a job that does not run reports nothing.
func addAge(add func(*Family, float64, ...string), status *v1alpha1.TrainingJobStatus, family *Family, at *metav1.Time, now time.Time) {
	if status.Phase == v1alpha1.PhaseRunning && at != nil {
		add(family, between(at, &metav1.Time{Time: now}))
	}
}

// budgetLeft returns how many more restarts the budget allows: those that were charged longer ago than its window count no more.
func budgetLeft(job *v1alpha1.TrainingJob, b *v1alpha1.Budget, now time.Time) int32 {
	return max(0, b.Limit-int32(len(budget.Used(job, b.Name, now))))
}
