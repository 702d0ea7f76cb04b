package plan_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A user suspends a job to repair its template, and then needs the log of the failure.
func TestASuspensionKeepsThePodOfTheLastFailure(t *testing.T) {
	isSuspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	broke := builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.LastFailure = &v1alpha1.Failure{Pod: "j-worker-1"} })
	job := builder.Job("j", builder.Workers(2), builder.Suspended(), isSuspended, broke, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	checkSteps(t, []stepCase{{"only the others go", job, seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Life(0, 0), builder.Exit(1))),
		[]string{"delete j-worker-0: the job is suspended"}, 0}})
}

// The training may begin again with an earlier checkpoint, or with other data.
func TestAResumptionBeginsANewRowForNoProgress(t *testing.T) {
	isSuspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	stuck := builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Memory.RestartsWithoutProgress, s.Memory.RedoStep, s.Progress = 3, 1000, &v1alpha1.ProgressStatus{Step: 1000}
	})
	job := builder.Job("j", pytorch, builder.Workers(1), builder.Progress(60, v1alpha1.StallRestart), builder.StartedAt(0), created, isSuspended, stuck)
	job = after(t, builder.Snapshot(job))
	if m := job.Status.Memory; m.RestartsWithoutProgress != 0 || m.RedoStep != 0 || job.Status.Progress.Step != 0 {
		t.Errorf("%d restarts without progress, step %d, which counts as lost until step %d", m.RestartsWithoutProgress, job.Status.Progress.Step, m.RedoStep)
	}
}

// givenUp is a job whose evaluator was given up, and the pod of its worker.
func givenUp(t *testing.T) (*v1alpha1.TrainingJob, builder.SnapshotOption) {
	t.Helper()
	worker := builder.Running("worker", 0)
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Evaluators(1)), worker, builder.Running("evaluator", 0))
	job = after(t, builder.Snapshot(job, worker, builder.Failed("evaluator", 0, builder.Exit(127))))
	if job.Status.Memory.Roles[v1alpha1.Evaluator].GivenUp != "0" {
		t.Fatalf("the evaluator is not given up: %v", job.Status.Memory.Roles)
	}
	return job, worker
}

func TestAReplicaThatWasGivenUpIsNamed(t *testing.T) {
	job, worker := givenUp(t)
	running := meta.FindStatusCondition(plan.Make(builder.Snapshot(job, worker, builder.Now(time.Hour))).Status.Conditions, v1alpha1.ConditionRunning)
	if want := "All required replicas are running; evaluator-0 has failed and is not run again in this attempt."; running.Message != want {
		t.Errorf("message %q, want %q", running.Message, want)
	}
}

func TestARepairBringsBackWhatWasGivenUp(t *testing.T) {
	asked, worker := givenUp(t)
	asked.Annotations = map[string]string{"trainingjob.dev/restart": "evaluator-0: repaired"}
	asked = after(t, builder.Snapshot(asked, worker, builder.Now(time.Hour)))
	resumed, _ := givenUp(t)
	builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)(resumed)
	resumed = after(t, builder.Snapshot(resumed, builder.Now(time.Hour)))
	for name, job := range map[string]*v1alpha1.TrainingJob{"a request": asked, "a resumption": resumed} {
		if m := job.Status.Memory.Roles[v1alpha1.Evaluator]; m.GivenUp != "" || m.Replacements != "0:1" {
			t.Errorf("after %s: given up %q, replaced %q", name, m.GivenUp, m.Replacements)
		}
	}
}

// A replica of a suspended job that ended by itself before its pod was deleted runs again when the job resumes: no Event calls it given up.
func TestAResumptionGivesNothingUp(t *testing.T) {
	job, _ := givenUp(t)
	builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)(job)
	builder.Remember(v1alpha1.Evaluator, v1alpha1.RoleMemory{})(job)
	for _, event := range plan.Make(builder.Snapshot(job, builder.Failed("evaluator", 0, builder.Exit(127)), builder.Now(time.Hour))).Events {
		if event.Reason == v1alpha1.EventReplicaGivenUp {
			t.Errorf("the job resumes, and an Event says %s", event.Message)
		}
	}
}

// The life that begins next answers a request. The request ends the back-off after a failure, but not the back-off of earlier requests.
func TestARequestInTheBackOffEndsItAndRestartsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		words string
		cause v1alpha1.Cause
		scope v1alpha1.RestartScope
		want  time.Duration
	}{
		"of a replica":                   {"worker-1: now", v1alpha1.CauseRetryable, v1alpha1.ScopeReplica, 60},
		"of the whole job":               {"now", v1alpha1.CauseRetryable, v1alpha1.ScopeJob, 60},
		"of a replica of a job":          {"worker-1: now", v1alpha1.CauseRetryable, v1alpha1.ScopeJob, 60},
		"of a replica after a request":   {"worker-1: now", v1alpha1.CauseRequested, v1alpha1.ScopeReplica, 80},
		"of the whole job after another": {"now", v1alpha1.CauseRequested, v1alpha1.ScopeJob, 80},
	} {
		options, pods := []builder.JobOption{builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{NextStarts: at("1", 80*time.Second), RestartsInRow: "1:4"})}, seen(builder.Running("worker", 0))
		if c.scope == v1alpha1.ScopeJob {
			options, pods = []builder.JobOption{builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.NextStartTime, s.Memory.RestartsInRow = builder.TimePtr(80*time.Second), 4
			})}, nil
		}
		job := builder.Job("j", append(options, builder.Workers(2), builder.StartedAt(0), created, builder.Status(func(s *v1alpha1.TrainingJobStatus) {
			s.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Cause: c.cause}, Scope: c.scope}}
		}))...)
		job.Annotations = map[string]string{"trainingjob.dev/restart": c.words}
		p := plan.Make(builder.Snapshot(job, pods...))
		start := p.Status.Memory.Roles[v1alpha1.Worker].NextStarts
		if c.scope == v1alpha1.ScopeJob {
			start = fmt.Sprintf("1:%d", p.Status.NextStartTime.Unix())
		}
		if start != at("1", c.want*time.Second) || p.Status.Restarts > 0 || p.Status.Attempt > 0 || p.Status.Memory.RestartRequest != c.words {
			t.Errorf("%s: starts at %s, %d restarts, attempt %d, answered %q", name, start, p.Status.Restarts, p.Status.Attempt, p.Status.Memory.RestartRequest)
		}
	}
}

// A rank of a collective runs again with the others, although it had succeeded. Until then the job does not run.
func TestAResumptionRunsNothingYet(t *testing.T) {
	isSuspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	done := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "0-1"})
	job := builder.Job("j", pytorch, builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 5), builder.StartedAt(0), created, isSuspended, done)
	status := plan.Make(builder.Snapshot(job)).Status
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSuspended) || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRunning) {
		t.Errorf("phase %s: %s", status.Phase, status.Message)
	}
}

// The pods beside the last failure keep their logs too, also after the resumption of a served job, in which they keep their lives.
func TestAResumptionKeepsTheLogsBesideTheLastFailure(t *testing.T) {
	numbered := func(n string) builder.PodOption {
		return builder.Edit(func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationLifeNumber, n) })
	}
	broke := builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Memory.ResumeNumber = 5
		s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Cause: v1alpha1.CauseRetryable, Reason: "Error", ExitCode: ptr.To[int32](1), Time: builder.Time(30 * second)}
	})
	job := builder.Job("j", pytorch, builder.Workers(3), builder.RunsSince(0), created, broke, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0-2:1"}))
	old := func(at time.Duration) []builder.PodOption {
		return []builder.PodOption{builder.Life(0, 0), builder.Exit(1), numbered("3"), builder.At(at)}
	}
	checkSteps(t, []stepCase{{"only the one that ended earlier goes", job, seen(
		builder.Failed("worker", 0, old(31*second)...), builder.Failed("worker", 1, old(30*second)...), builder.Failed("worker", 2, old(10*second)...),
		builder.Running("worker", 0, numbered("6")), builder.Running("worker", 1, numbered("6")), builder.Running("worker", 2, numbered("6"))),
		[]string{"delete j-worker-2: its life is past"}, 0}})
}
