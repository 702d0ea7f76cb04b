package plan_test

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// numbered gives the pod the number of its life.
func numbered(n int64) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{v1alpha1.AnnotationLifeNumber: strconv.FormatInt(n, 10)}
	})
}

// Scripts and log links name the pods of a Kubeflow job as JOB-TYPE-INDEX, before and after a suspension.
func TestAServedJobKeepsItsPodNamesInASuspension(t *testing.T) {
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	for name, c := range map[string]struct {
		options []builder.JobOption
		pods    []builder.SnapshotOption
		want    string
	}{
		"a served job":              {[]builder.JobOption{builder.Served()}, nil, ""},
		"a pod is left":             {[]builder.JobOption{builder.Served()}, []builder.SnapshotOption{builder.Succeeded("worker", 1)}, "1:1"},
		"a job that serves nothing": {nil, nil, "0-1:1"},
	} {
		options := slices.Concat(c.options, []builder.JobOption{builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.StartedAt(0), resting})
		status := plan.Make(builder.Snapshot(builder.Job("j", options...), c.pods...)).Status
		if got := status.Memory.Roles[v1alpha1.Worker].Replacements; got != c.want {
			t.Errorf("%s: after the resumption these have another life: %q, want %q", name, got, c.want)
		}
		if number := state.LifeNumber(&status); number != 1 {
			t.Errorf("%s: after the resumption the life number is %d, want 1", name, number)
		}
	}
}

func TestAPodFromBeforeTheSuspensionIsNeverTakenForTheNext(t *testing.T) {
	job := builder.Job("j", builder.Served(), builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.StartedAt(0),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Memory.Lives, s.Memory.ResumeNumber = 1, 1 }))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, numbered(1)), builder.Running("worker", 1, numbered(0))))
	if got := deletes(&p); len(got) != 1 || got[0] != "j-worker-1" {
		t.Errorf("deleted: %v, want j-worker-1 alone, which is from before the suspension", got)
	}
	p = plan.Make(builder.Snapshot(job, builder.Running("worker", 0, numbered(1)), builder.SeenEnded("worker", 1, corev1.PodRunning, numbered(0))))
	if p.Status.Restarts != 0 {
		t.Errorf("%d restarts for a pod from before the suspension", p.Status.Restarts)
	}
}

// A process that leads no more may have read the job while it was suspended, and see the pods of the time after.
func TestAJobThatReadsAsSuspendedDeletesNoPodOfItsResumption(t *testing.T) {
	job := builder.Job("j", builder.Served(), builder.Suspended(), builder.Framework(v1alpha1.PyTorch), builder.Workers(1), builder.StartedAt(0),
		builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0))
	if p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, numbered(1)))); len(p.Steps) > 0 {
		t.Errorf("steps %v", p.Steps)
	}
	if p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, numbered(0)))); len(p.Steps) == 0 {
		t.Error("a pod from before the suspension stays")
	}
}
