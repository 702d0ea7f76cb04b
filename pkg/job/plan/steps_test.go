package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

func nextStart(d time.Duration) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = builder.TimePtr(d) })
}

func lastFailure(pod string) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.LastFailure = &v1alpha1.Failure{Pod: pod} })
}

func finished(reason string) builder.JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.Status.CompletionTime = builder.TimePtr(30 * second)
		builder.Condition(v1alpha1.ConditionFinished, true, reason, 30*second)(job)
		builder.Condition(v1alpha1.ConditionSucceeded, true, reason, 30*second)(job)
	}
}

type stepCase struct {
	name string
	job  *v1alpha1.TrainingJob
	pods []builder.SnapshotOption
	want []string
	wake time.Duration
}

func checkSteps(t *testing.T, cases []stepCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			p := plan.Make(builder.Snapshot(c.job, c.pods...))
			if diff := cmp.Diff(c.want, lines(p.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got := wakeOf(p); got != c.wake {
				t.Errorf("wakes at %v, want %v", got, c.wake)
			}
		})
	}
}

func TestCreating(t *testing.T) {
	two := builder.Job("j", builder.Workers(2))
	launched := builder.Job("j", mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(1))
	second1 := builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1))
	replaced := builder.Job("j", builder.Workers(2), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	checkSteps(t, []stepCase{
		{"a new job gets its Service and all its pods, in the order of their ranks",
			builder.Job("j", builder.Workers(2), builder.PS(1), builder.Leader(v1alpha1.Chief)), seen(builder.NoService()),
			[]string{"create service j", "create j-chief-0", "create j-worker-0", "create j-worker-1", "create j-ps-0"}, 0},
		{"an MPI job gets its key before its pods", launched, seen(builder.NoService()),
			[]string{"create service j", "create secret j-uid-j-ssh", "create j-launcher-0", "create j-worker-0"}, 0},
		{"it is created again with each missing pod, because the operator may not read it", launched, seen(builder.Running("launcher", 0)),
			[]string{"create secret j-uid-j-ssh", "create j-worker-0"}, 0},
		{"and not when no pod is missing", launched, seen(builder.Running("launcher", 0), builder.Running("worker", 0)), nil, 0},
		{"nor before nextStartTime", builder.Job("j", mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(1), nextStart(90*second)), nil, nil, 90 * second},
		{"an MPI job that launches in a way of its own has none", builder.Job("j", mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(1),
			func(job *v1alpha1.TrainingJob) {
				job.Spec.MPI = &v1alpha1.MPISpec{LaunchAgent: v1alpha1.LaunchAgentNone}
			}), nil,
			[]string{"create j-launcher-0", "create j-worker-0"}, 0},
		{"what is missing is created", two, seen(builder.Running("worker", 0)), []string{"create j-worker-1"}, 0},
		{"a deleted Service is created again", two,
			seen(builder.NoService(), builder.Running("worker", 0), builder.Running("worker", 1)), []string{"create service j"}, 0},
		{"a replica that has succeeded is not created again",
			builder.Job("j", builder.Workers(2), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "1"})),
			seen(builder.Running("worker", 0)), nil, 0},
		{"no pod is created before nextStartTime, though the Service is",
			builder.Job("j", builder.Workers(1), nextStart(90*second)), seen(builder.NoService()), []string{"create service j"}, 90 * second},
		{"the replicas of a Kubeflow job have Services of their own",
			builder.Job("j", builder.Served(), builder.Workers(1)), seen(builder.NoService()), []string{"create j-worker-0"}, 0},
		{"at nextStartTime pods are created", builder.Job("j", builder.Workers(1), nextStart(60*second)), nil, []string{"create j-worker-0"}, 0},
		{"a replica whose own next start is to come is left out, the others are created, and it is looked at then",
			builder.Job("j", builder.Workers(4), alone("1:3,3:4", at("1", 95*second)+","+at("3", 90*second))), seen(builder.Running("worker", 0)),
			[]string{"create j-worker-2"}, 90 * second},
		{"at its own next start it is created",
			builder.Job("j", builder.Workers(2), alone("1:3", at("1", 60*second))), seen(builder.Running("worker", 0)), []string{"create j-worker-1-a0r3"}, 0},
		{"a new attempt deletes the pods of the old one and waits for all of them",
			second1, seen(builder.Running("worker", 0, builder.Life(0, 0)), builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0))),
			[]string{"delete j-worker-0: its life is past", "delete j-worker-1: its life is past"}, 0},
		{"it waits for a pod that is terminating", second1, seen(builder.Deleted("worker", 1, builder.Life(0, 0))), nil, 90 * second},
		{"it waits for a pod of a replica that scaling took away", second1, seen(builder.Deleted("worker", 7, builder.Life(0, 0))), nil, 90 * second},
		{"it does not wait for a pod that cannot run any more", second1,
			seen(builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0), builder.DeletedAt(40*second))),
			[]string{"create j-worker-0-a1r0", "create j-worker-1-a1r0"}, 70 * second},
		{"it waits for pods of an earlier job of the same name", two, seen(builder.FormerJobPod(), builder.NoService()), []string{"create service j"}, 0},
		{"a replaced replica waits for its own former pod only", replaced,
			seen(builder.Deleted("worker", 1, builder.Life(0, 0))), []string{"create j-worker-0"}, 90 * second},
		{"a replaced replica comes when its former pod has ended", replaced,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0))),
			[]string{"delete j-worker-1: its life is past", "create j-worker-1-a0r1"}, 0},
	})
}

func TestDeleting(t *testing.T) {
	scaled := builder.Job("j", pytorch, builder.Workers(2), builder.Elastic(1, 4),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "3:1"}))
	checkSteps(t, []stepCase{
		{"the pod behind lastFailure is kept for its log",
			builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1), lastFailure("j-worker-1"), nextStart(90*second)),
			seen(builder.Failed("worker", 0, builder.Exit(1), builder.Life(0, 0)), builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0))),
			[]string{"delete j-worker-0: its life is past"}, 90 * second},
		{"so are those that ended beside it, as any may have been first; what ended long after is not",
			builder.Job("j", pytorch, builder.Workers(4), builder.Attempt(1), nextStart(90*second), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Cause: v1alpha1.CauseRetryable, ExitCode: ptr.To[int32](1), Time: builder.Time(30 * second)}
			})),
			seen(builder.Failed("worker", 0, builder.Exit(1), builder.At(31*second), builder.Life(0, 0)), builder.Failed("worker", 1, builder.Exit(1), builder.At(30*second), builder.Life(0, 0)),
				builder.Failed("worker", 2, builder.Exit(143), builder.At(30*second), builder.Life(0, 0)), builder.Failed("worker", 3, builder.Exit(1), builder.At(40*second), builder.Life(0, 0))),
			[]string{"delete j-worker-3: its life is past"}, 90 * second},
		{"so is one whose init container failed then: a rank may have waited for it in vain",
			builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1), nextStart(90*second), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Cause: v1alpha1.CauseRetryable, ExitCode: ptr.To[int32](1), Time: builder.Time(30 * second)}
			})),
			seen(builder.Failed("worker", 0, builder.FailedInit("prepare", 5), builder.At(31*second), builder.Life(0, 0)), builder.Failed("worker", 1, builder.Exit(1), builder.At(30*second), builder.Life(0, 0))),
			nil, 90 * second},
		{"but not while it can run",
			builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1), lastFailure("j-worker-1")),
			seen(builder.Running("worker", 1, builder.Life(0, 0))), []string{"delete j-worker-1: its life is past"}, 0},
		{"a replica that scaling took away is deleted once that is written",
			scaled, seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 3, builder.Life(0, 0))),
			[]string{"delete j-worker-3: its life is past"}, 0},
		{"and is not deleted twice",
			scaled, seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Deleted("worker", 3, builder.Life(0, 0))), nil, 90 * second},
	})
}

func TestSuspendDeletesThePodsAndKeepsWhatSucceeded(t *testing.T) {
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	job := builder.Job("j", builder.Workers(4), builder.Suspended(), suspended)
	resumed := builder.Job("j", builder.Workers(2), suspended)
	checkSteps(t, []stepCase{
		{"every pod but one that succeeded goes, a failed one too", job,
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1), builder.Failed("worker", 2, builder.Exit(1)), builder.Deleted("worker", 3)),
			[]string{"delete j-worker-0: the job is suspended", "delete j-worker-2: the job is suspended"}, 90 * second},
		{"a suspended job gets no pods and no Service", job, seen(builder.NoService()), nil, 0},
		{"a side-car of a replica that was taken away goes, too",
			builder.Job("j", builder.Workers(2), suspended, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "3:1"})),
			seen(builder.Running("worker", 3, builder.MainDone(), builder.Life(0, 0))), []string{"delete j-worker-3: the job is suspended"}, 0},
		{"a side-car of a replica whose success does not count goes, too", builder.Job("j", builder.Workers(2, builder.Policy(v1alpha1.RestartAlways)), suspended),
			seen(builder.Running("worker", 1, builder.MainDone())), []string{"delete j-worker-1: the job is suspended"}, 0},
		{"it resumes only after the last of them has gone", resumed, seen(builder.Running("worker", 0), builder.Deleted("worker", 1)),
			[]string{"delete j-worker-0: the job is suspended"}, 90 * second},
		{"that it resumes is written first", resumed, nil, nil, 0},
	})
}

func TestCleanUp(t *testing.T) {
	pods := seen(builder.Succeeded("worker", 0), builder.Running("worker", 1), builder.Failed("worker", 2, builder.Exit(1)),
		builder.Deleted("worker", 3))
	past := builder.Running("worker", 1, builder.Life(0, 0))
	job := func(policy v1alpha1.CleanPodPolicy, options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(4), finished(v1alpha1.ReasonLeaderSucceeded), builder.Clean(policy)}, options...)...)
	}
	checkSteps(t, []stepCase{
		{"Running deletes what still runs", job(v1alpha1.CleanRunning), pods, []string{"delete j-worker-1: the job has finished"}, 0},
		{"All deletes every pod", job(v1alpha1.CleanAll), pods, []string{"delete j-worker-0: the job has finished",
			"delete j-worker-1: the job has finished", "delete j-worker-2: the job has finished"}, 0},
		{"None deletes no pod", job(v1alpha1.CleanNone), pods, nil, 0},
		{"None deletes pods that never ran", job(v1alpha1.CleanNone), seen(builder.Running("worker", 0), builder.Pending("worker", 1), builder.Pending("worker", 2, builder.On("n"))),
			[]string{"delete j-worker-1: the job has finished", "delete j-worker-2: the job has finished"}, 0},
		{"None deletes what still runs of a past life", job(v1alpha1.CleanNone, builder.Attempt(1)), seen(past),
			[]string{"delete j-worker-1: the job has finished"}, 0},
		{"a finished job gets no pods, whatever is missing", job(v1alpha1.CleanRunning), seen(builder.NoService()), nil, 0},
		{"before its time to live is over the job stays", job(v1alpha1.CleanRunning, builder.TTL(60)), nil, nil, 90 * second},
		{"then it is deleted, and its pods by the garbage collector", job(v1alpha1.CleanRunning, builder.TTL(20)), pods,
			[]string{"delete job uid-j"}, 2 * time.Minute},
		{"what the API server refuses is tried again at its time only", job(v1alpha1.CleanRunning, builder.TTL(20)),
			seen(builder.Refused(v1alpha1.ReasonForbidden, "no", 90*second)), nil, 90 * second},
	})
}

func TestARefusedJobWaitsAndTriesAgain(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Attempt(1))
	checkSteps(t, []stepCase{
		{"nothing is created before the time to try again", job, seen(builder.NoService(), builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 90*second)),
			nil, 90 * second},
		{"pods of past lives are deleted all the same", job,
			seen(builder.Running("worker", 0, builder.Life(0, 0)), builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 90*second)),
			[]string{"delete j-worker-0: its life is past"}, 90 * second},
		{"at that time it is tried", job, seen(builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 60*second)),
			[]string{"create j-worker-0-a1r0", "create j-worker-1-a1r0"}, 0},
	})
}

// A plan that begins or ends a life, a suspension or the job has no steps: they follow once the status is read back.
func TestAPlanThatChangesLivesCarriesNoSteps(t *testing.T) {
	base := []builder.JobOption{builder.Workers(3), builder.StartedAt(0)}
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	cases := []stepCase{
		{name: "a whole-job restart", job: builder.Job("j", append(base, pytorch)...), pods: seen(builder.Failed("worker", 1, builder.Exit(1)))},
		{name: "a replaced replica", job: builder.Job("j", base...), pods: seen(builder.Failed("worker", 1, builder.Exit(1)))},
		{name: "a replaced role", job: builder.Job("j", append(base, builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole)))...), pods: seen(builder.Failed("worker", 1, builder.Exit(1)))},
		{name: "a suspension", job: builder.Job("j", append(base, builder.Suspended())...), pods: seen(builder.Running("worker", 0))},
		{name: "a resumption", job: builder.Job("j", append(base, suspended)...), pods: nil},
		{name: "success", job: builder.Job("j", base...), pods: seen(builder.Succeeded("worker", 0), builder.Running("worker", 1))},
		{name: "failure", job: builder.Job("j", append(base, builder.Deadline(1))...), pods: seen(builder.Running("worker", 1))},
		{name: "a replica that scaling takes away", job: builder.Job("j", append(base, builder.Elastic(1, 9))...), pods: seen(builder.Running("worker", 5))},
		{name: "being late", job: builder.Job("j", append(base, builder.StartupDeadline(1))...), pods: seen(builder.Running("worker", 1))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Make(builder.Snapshot(c.job, append(c.pods, builder.NoService())...))
			if len(p.Steps) > 0 || cmp.Equal(c.job.Status, p.Status) {
				t.Errorf("steps %v, status changed: %t", lines(p.Steps), !cmp.Equal(c.job.Status, p.Status))
			}
		})
	}
}
