package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
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
