package plan_test

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The user suspends the job, changes it and resumes it while no operator looks.
func TestASuspensionThatNobodySawIsMadeUpFor(t *testing.T) {
	running := after(t, builder.Snapshot(builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1)))
	changed := running.DeepCopy()
	changed.Generation += 3
	workers := changed.Spec.ReplicaSpecs[v1alpha1.Worker]
	workers.Replicas = ptr.To[int32](4)
	changed.Spec.ReplicaSpecs[v1alpha1.Worker] = workers

	suspended := after(t, builder.Snapshot(changed, builder.Running("worker", 0), builder.Running("worker", 1)))
	if suspended.Status.Phase != v1alpha1.PhaseSuspended || suspended.Status.Reason != v1alpha1.ReasonFormerPodsEnding {
		t.Fatalf("the job is %s (%s)", suspended.Status.Phase, suspended.Status.Reason)
	}
	p := plan.Make(builder.Snapshot(suspended, builder.Running("worker", 0), builder.Running("worker", 1)))
	if got := deletes(&p); len(got) != 2 {
		t.Errorf("these pods of two workers are deleted: %v", got)
	}
	resumed := after(t, builder.Snapshot(suspended))
	created := 0
	for _, step := range plan.Make(builder.Snapshot(resumed)).Steps {
		if c, is := step.(plan.CreatePod); is && c.Life.Replacement == 1 {
			created++
		}
	}
	if resumed.Status.Restarts != 0 || created != 4 {
		t.Errorf("%d pods of the next life are created, %d restarts are counted", created, resumed.Status.Restarts)
	}
}

func TestScalingAnElasticJobEndsNoPods(t *testing.T) {
	job := after(t, builder.Snapshot(builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.Elastic(1, 4)),
		builder.Running("worker", 0), builder.Running("worker", 1)))
	job.Generation++
	workers := job.Spec.ReplicaSpecs[v1alpha1.Worker]
	workers.Replicas = ptr.To[int32](4)
	job.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1)))
	if got := deletes(&p); len(got) > 0 || p.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s and these pods are deleted: %v", p.Status.Phase, got)
	}
}
