package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A collective whose rank 0 has succeeded: the others may still write data.
func TestRanksOfASucceededJobEndByThemselves(t *testing.T) {
	done := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(options, pytorch, builder.Workers(2), builder.PS(1), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionFinished, true, "", 0),
			builder.Condition(v1alpha1.ConditionSucceeded, true, "", 0), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.CompletionTime = builder.TimePtr(60 * second) }))...)
	}
	withEvaluator := done(builder.Evaluators(1))
	mpi := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		job := done(append(options, builder.Framework(v1alpha1.MPI), builder.Leader(v1alpha1.Launcher))...)
		delete(job.Spec.ReplicaSpecs, v1alpha1.PS)
		job.Spec.Framework = v1alpha1.MPI
		return job
	}
	sshd := mpi()
	own := mpi()
	own.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0].Command = []string{"/usr/sbin/sshd", "-D"}
	hasty := func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.FinishGraceSeconds = ptr.To[int32](0) }
	failed := builder.Job("j", pytorch, builder.Workers(2), builder.PS(1), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionFinished, true, "", 0),
		builder.Condition(v1alpha1.ConditionFailed, true, "", 0), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.CompletionTime = builder.TimePtr(60 * second) }))
	leader, ps := builder.Succeeded("worker", 0), builder.Running("ps", 0)
	clean := []string{"delete j-worker-1: the job has finished", "delete j-ps-0: the job has finished"}
	for _, c := range []struct {
		name string
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want []string
		wake time.Duration
	}{
		{"a rank that runs has 30 s", done(), seen(leader, builder.Running("worker", 1), ps, builder.Now(61*second)), nil, 90 * second},
		{"not more", done(), seen(leader, builder.Running("worker", 1), ps, builder.Now(90*second)), clean, 0},
		{"or as long as the job sets", done(hasty), seen(leader, builder.Running("worker", 1), ps, builder.Now(61*second)), clean, 0},
		{"what is no rank ends with the last rank", done(), seen(leader, builder.Succeeded("worker", 1), ps, builder.Now(61*second)),
			[]string{"delete j-ps-0: the job has finished"}, 0},
		{"an evaluator has it, too", withEvaluator, seen(leader, builder.Succeeded("worker", 1), ps, builder.Running("evaluator", 0), builder.Now(61*second)), nil, 90 * second},
		{"workers that run the operator's sshd have none", sshd, seen(builder.Succeeded("launcher", 0), builder.Running("worker", 0), builder.Running("worker", 1), builder.Now(61*second)),
			[]string{"delete j-worker-0: the job has finished", "delete j-worker-1: the job has finished"}, 0},
		{"workers of MPI with a command of their own have it", own, seen(builder.Succeeded("launcher", 0), builder.Running("worker", 0), builder.Running("worker", 1), builder.Now(61*second)),
			nil, 90 * second},
		{"a side-car of a rank that is done has it, too", done(), seen(leader, builder.Running("worker", 1, builder.MainDone()), endsSeen(60*second), builder.Now(61*second)), nil, 90 * second},
		{"not more", done(), seen(leader, builder.Running("worker", 1, builder.MainDone()), endsSeen(60*second), builder.Now(90*second)),
			[]string{"delete j-worker-1: the job has finished"}, 0},
		{"from when its rank was done, while another one ends", done(), seen(builder.Running("worker", 0, builder.MainDone()), builder.Running("worker", 1), endsSeen(50*second), builder.Now(61*second)), nil, 80 * second},
		{"then it has had its time", done(), seen(builder.Running("worker", 0, builder.MainDone()), builder.Running("worker", 1), endsSeen(31*second), builder.Now(61*second)),
			[]string{"delete j-worker-0: its main container has succeeded"}, 90 * second},
		{"a pod of a past life is no rank", done(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})),
			seen(leader, builder.Running("worker", 1, builder.Life(0, 0)), builder.Running("worker", 1, builder.Life(0, 1)), builder.Now(61*second)),
			[]string{"delete j-worker-1: its life is past"}, 90 * second},
		{"a time to live begins after it", done(func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.TTLSecondsAfterFinished = ptr.To[int32](0) }),
			seen(leader, builder.Running("worker", 1), ps, builder.Now(61*second)), nil, 90 * second},
		{"ranks of a failed job have no time", failed, seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1), ps, builder.Now(61*second)), clean, 0},
	} {
		p := plan.Make(builder.Snapshot(c.job, c.seen...))
		if diff := cmp.Diff(c.want, lines(p.Steps)); diff != "" || c.want == nil && wakeOf(p) != c.wake {
			t.Errorf("%s: wakes at %v, want %v; steps (-want +got):\n%s", c.name, wakeOf(p), c.wake, diff)
		}
	}
}

// Pods that a restart deletes have little left to do. All others get the grace period of their template.
func TestGraceOfDeletions(t *testing.T) {
	own := func(seconds int64) builder.JobOption {
		return builder.Of(v1alpha1.Worker, builder.Template(func(template *corev1.PodTemplateSpec) { template.Spec.TerminationGracePeriodSeconds = &seconds }))
	}
	longer := func(job *v1alpha1.TrainingJob) { job.Spec.Recovery.TerminationGraceSeconds = ptr.To[int32](20) }
	second1 := builder.Attempt(1)
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, "", 0)
	for name, c := range map[string]struct {
		options []builder.JobOption
		pod     builder.SnapshotOption
		want    *int64
	}{
		"of an earlier attempt":           {[]builder.JobOption{second1}, builder.Running("worker", 0, builder.Life(0, 0)), ptr.To[int64](5)},
		"of one that is to have longer":   {[]builder.JobOption{second1, longer}, builder.Running("worker", 0, builder.Life(0, 0)), ptr.To[int64](20)},
		"of one whose template sets less": {[]builder.JobOption{second1, own(3)}, builder.Running("worker", 0, builder.Life(0, 0)), nil},
		"of one whose template sets more": {[]builder.JobOption{second1, own(600)}, builder.Running("worker", 0, builder.Life(0, 0)), ptr.To[int64](5)},
		"of one that scaling takes away":  {[]builder.JobOption{builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "7:1"})}, builder.Running("worker", 7, builder.Life(0, 0)), nil},
		"of one whose template sets none": {[]builder.JobOption{second1, own(0)}, builder.Running("worker", 0, builder.Life(0, 0)), ptr.To[int64](1)},
		"of a suspended job without any":  {[]builder.JobOption{builder.Suspended(), suspended, own(0)}, builder.Running("worker", 0), ptr.To[int64](1)},
		"of a suspended job":              {[]builder.JobOption{builder.Suspended(), suspended}, builder.Running("worker", 0, builder.Life(0, 0)), nil},
	} {
		var got []*int64
		for _, step := range plan.Make(builder.Snapshot(builder.Job("j", append(c.options, builder.Workers(1), builder.StartedAt(0))...), c.pod)).Steps {
			if d, isDelete := step.(plan.DeletePod); isDelete {
				got = append(got, d.Grace)
			}
		}
		if diff := cmp.Diff([]*int64{c.want}, got); diff != "" {
			t.Errorf("grace %s (-want +got):\n%s", name, diff)
		}
	}
}
