package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// deleted marks a job as deleted, in its second generation, with the finalizers.
func deleted(finalizers ...string) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) {
		job.DeletionTimestamp, job.Finalizers, job.Generation = &metav1.Time{Time: builder.Epoch}, finalizers, 2
	}
}

// A queue frees the quota of a deleted job when the status counts no active pod of the present generation.
func TestADeletedJobThatHoldsQuotaEndsItsPodsAndCountsThem(t *testing.T) {
	finished := builder.Condition(v1alpha1.ConditionFinished, true, "", 0)
	keepsPods := func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanNone }
	cases := []struct {
		name   string
		job    *v1alpha1.TrainingJob
		pods   []builder.SnapshotOption
		steps  []string
		active int32
	}{
		{"it runs", builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, deleted(v1alpha1.FinalizerQuota)),
			[]builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1)}, []string{"delete j-worker-0: the job is being deleted", "delete j-worker-1: the job is being deleted"}, 2},
		{"one pod is ending", builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, deleted(v1alpha1.FinalizerQuota)),
			[]builder.SnapshotOption{builder.Running("worker", 0, builder.DeletedAt(0))}, nil, 1},
		{"its last pod is gone", builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, deleted(v1alpha1.FinalizerQuota)), nil, nil, 0},
		{"it has finished, and a pod outlives it", builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, finished, keepsPods, deleted(v1alpha1.FinalizerQuota)),
			[]builder.SnapshotOption{builder.Running("worker", 1)}, []string{"delete j-worker-1: the job is being deleted"}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Make(builder.Snapshot(c.job, c.pods...))
			if diff := cmp.Diff(c.steps, lines(p.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got := p.Status.ReplicaStatuses[v1alpha1.Worker].Active; got != c.active || p.Status.ObservedGeneration != 2 {
				t.Errorf("%d active pods in generation %d, want %d in 2", got, p.Status.ObservedGeneration, c.active)
			}
		})
	}
}

// The garbage collector ends the pods of every other job.
func TestAnyOtherDeletedJobIsLeftAlone(t *testing.T) {
	for _, finalizers := range [][]string{nil, {metav1.FinalizerDeleteDependents}} {
		job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), created, deleted(finalizers...))
		p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0)))
		if diff := cmp.Diff(plan.Plan{Status: job.Status}, p); diff != "" {
			t.Errorf("finalizers %v, plan (-want +got):\n%s", finalizers, diff)
		}
	}
}

// Without an admission policy, and before the adapter suspends it, a job of a queue has no pods.
func TestAJobOfAQueueBeginsWhenItIsAdmitted(t *testing.T) {
	queued := func(job *v1alpha1.TrainingJob) { job.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"} }
	admitted := func(job *v1alpha1.TrainingJob) { job.Finalizers = []string{v1alpha1.FinalizerQuota} }
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, "", 0)
	cases := []struct {
		name  string
		job   *v1alpha1.TrainingJob
		phase v1alpha1.Phase
	}{
		{"it is new", builder.Job("j", builder.Workers(1), queued), v1alpha1.PhaseQueued},
		{"it resumes", builder.Job("j", builder.Workers(1), queued, builder.StartedAt(0), resting), v1alpha1.PhaseQueued},
		{"it is new, and admitted", builder.Job("j", builder.Workers(1), queued, admitted), v1alpha1.PhaseCreated},
		{"it resumes, admitted", builder.Job("j", builder.Workers(1), queued, admitted, builder.StartedAt(0), resting), v1alpha1.PhaseCreated},
		{"an earlier adapter has started it", builder.Job("j", builder.Workers(1), queued, builder.StartedAt(0), created), v1alpha1.PhaseCreated},
		{"it is in no queue", builder.Job("j", builder.Workers(1)), v1alpha1.PhaseCreated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Make(builder.Snapshot(c.job))
			if p.Status.Phase != c.phase {
				t.Errorf("phase %s, want %s: %s", p.Status.Phase, c.phase, p.Status.Message)
			}
			if c.phase == v1alpha1.PhaseQueued && p.Status.Message != "The job waits in queue team-a to be admitted: Kueue and the Kueue adapter start it." {
				t.Errorf("message %q", p.Status.Message)
			}
		})
	}
}
