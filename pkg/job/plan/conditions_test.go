package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A running job names its replicas that are not ready: kubectl shows how many are.
func TestAJobThatRunsSaysWhoIsNotReady(t *testing.T) {
	unready := builder.Edit(func(pod *corev1.Pod) { pod.Status.Conditions = nil })
	job := takenOn(t, builder.Workers(3))
	for want, pods := range map[string][]builder.SnapshotOption{
		"All replicas run. Not ready: worker-1 on b.": seen(builder.Running("worker", 0), builder.Running("worker", 1, unready, builder.On("b")), builder.Running("worker", 2)),
		"All replicas run. Not ready: worker-1 on b, because its node is not ready, and 1 more.": seen(builder.Running("worker", 0),
			builder.Running("worker", 1, unready, builder.On("b")), builder.Running("worker", 2, unready, builder.On("b")), builder.NodeLost("b", time.Hour)),
	} {
		got := plan.Make(builder.Snapshot(job, pods...)).Status
		if got.Message != want || got.Phase != v1alpha1.PhaseRunning {
			t.Errorf("the job is %s: %q, want %q", got.Phase, got.Message, want)
		}
	}
}

// A job that runs with fewer workers than it asks for says so, in the column and in words.
func TestAPartialAdmissionShows(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Elastic(2, 6), builder.RunsSince(0), func(job *v1alpha1.TrainingJob) {
		job.Annotations = map[string]string{"trainingjob.dev/kueue-admitted-workers": "2 of 6"}
	})
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1)))
	if p.Status.Reason != "PartiallyAdmitted" || p.Status.Message != "All admitted replicas run: the queue has admitted 2 of 6 workers." {
		t.Errorf("%s: %s", p.Status.Reason, p.Status.Message)
	}
}

// A replaced replica may not start, and then the job continues without it for days.
func TestARunningJobShowsWhyAReplicaDoesNotStart(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Elastic(1, 2), builder.StartedAt(0), created, builder.RunsSince(0))
	fixed := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, builder.RunsSince(0))
	needless := builder.Job("j", builder.Workers(1), builder.Evaluators(1), builder.StartedAt(0), created, builder.RunsSince(0))
	gated := builder.Edit(func(pod *corev1.Pod) {
		pod.CreationTimestamp = builder.Time(50 * second)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated", Message: "Scheduling is blocked"}}
	})
	noConfig := builder.Waiting("CreateContainerConfigError", `configmap "c" not found`)
	for _, c := range []struct {
		job  *v1alpha1.TrainingJob
		role string
		i    int
		is   builder.PodOption
		at   time.Duration
		want string
		wake time.Duration
	}{
		{fixed, "worker", 1, noConfig, 60 * second, `The job continues; worker-1: CreateContainerConfigError: configmap "c" not found`, 0},
		{fixed, "worker", 1, builder.Waiting("ContainerCreating", ""), 60 * second, "The job continues; worker-1 is not running.", 0},
		{fixed, "worker", 1, gated, 60 * second, "The job continues; worker-1 is not running.", 65 * second},
		{fixed, "worker", 1, gated, 65 * second, "The job continues; worker-1: SchedulingGated: Scheduling is blocked", 0},
		{job, "worker", 1, noConfig, 60 * second, `At least minReplicas workers run; worker-1: CreateContainerConfigError: configmap "c" not found`, 0},
		{needless, "evaluator", 0, noConfig, 60 * second, `All required replicas are running; evaluator-0: CreateContainerConfigError: configmap "c" not found`, 0},
	} {
		p := plan.Make(builder.Snapshot(c.job, builder.Now(c.at), builder.Running("worker", 0), builder.Pending(c.role, c.i, builder.On("n"), c.is)))
		if is := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRunning); is.Message != c.want || c.wake > 0 && wakeOf(p) != c.wake {
			t.Errorf("message %q, again at %v, want %q at %v", is.Message, wakeOf(p), c.want, c.wake)
		}
	}
}
