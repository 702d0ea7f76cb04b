package story_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var update = flag.Bool("update", false, "write the golden files anew")

const second = time.Second

// golden compares what is told with what was told, and looked at by a person, before.
func golden(t *testing.T, got string) {
	t.Helper()
	name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "Test"), "/", "-")
	path := filepath.Join("testdata", strings.ReplaceAll(name, "_", "-")+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("told otherwise than before (-before +now):\n%s", diff)
	}
}

// phase gives the job a phase, and the operator's words for it.
func phase(p v1alpha1.Phase, reason, message string) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Phase, s.Reason, s.Message = p, reason, message })
}

func failure(cause v1alpha1.Cause, reason string, code int32, at time.Duration) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Role: v1alpha1.Worker, Index: 1, Cause: cause, Reason: reason, Pod: "mnist-worker-1", Node: "gpu-7", Time: builder.Time(at),
	}
	if code > 0 {
		f.ExitCode = &code
	}
	return f
}

func lastFailure(f v1alpha1.Failure, message string) builder.JobOption {
	f.Message = message
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.LastFailure = &f })
}

func incident(f v1alpha1.Failure, scope v1alpha1.RestartScope, charged bool, after time.Duration) v1alpha1.Incident {
	return v1alpha1.Incident{Failure: f, Scope: scope, Charged: charged, RestartTime: builder.Time(f.Time.Sub(builder.Epoch) + after)}
}

func inAttempt(n int32, f v1alpha1.Failure) v1alpha1.Failure {
	f.Attempt = n
	return f
}

// view is a job that is looked at ten minutes after Epoch.
func view(job *v1alpha1.TrainingJob, pods ...*corev1.Pod) *story.View {
	v := &story.View{Job: job, Now: builder.Epoch.Add(10 * time.Minute)}
	if len(pods) > 0 && job.Status.StartTime == nil {
		job.Status.StartTime = builder.TimePtr(0)
	}
	for _, p := range pods {
		v.Pods = append(v.Pods, *p)
	}
	return v
}

func worker(job *v1alpha1.TrainingJob, i int, phase corev1.PodPhase, options ...builder.PodOption) *corev1.Pod {
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{Attempt: int(job.Status.Attempt)}, phase, options...)
	pod.CreationTimestamp = builder.Time(0)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	return pod
}

func TestWhy(t *testing.T) {
	quota := phase(v1alpha1.PhasePending, v1alpha1.ReasonQuotaExceeded, `pods "mnist-worker-1" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8, used: nvidia.com/gpu=8, limited: nvidia.com/gpu=8`)
	oom := failure(v1alpha1.CauseOOM, "OOMKilled", 137, 550*second)
	lost := failure(v1alpha1.CauseInfrastructure, "NodeLost", 0, 550*second)
	missing := failure(v1alpha1.CauseFatal, "Error", 127, 550*second)
	cases := []struct {
		name string
		view *story.View
	}{
		{"the operator has not seen it", view(builder.Job("mnist", builder.Workers(2)))},
		{"its image cannot be pulled", func() *story.View {
			job := builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), phase(v1alpha1.PhasePending, "ImagePullBackOff", "worker-1: ImagePullBackOff: Back-off pulling image"))
			return view(job, worker(job, 0, corev1.PodRunning), worker(job, 1, corev1.PodPending, builder.Waiting("ImagePullBackOff", `Back-off pulling image "train:x"`)))
		}()},
		{"no node has room", func() *story.View {
			job := builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), phase(v1alpha1.PhasePending, v1alpha1.ReasonUnschedulable, "worker-0: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu."))
			say := builder.Unschedulable("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")
			return view(job, worker(job, 0, corev1.PodPending, say), worker(job, 1, corev1.PodPending, say))
		}()},
		{"a quota refuses it", view(builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), quota, builder.Condition(v1alpha1.ConditionStalled, true, v1alpha1.ReasonQuotaExceeded, 0)))},
		{"it restarts after it ran out of memory", view(builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), builder.Attempt(1),
			phase(v1alpha1.PhaseRestarting, v1alpha1.ReasonOutOfMemory, "worker-1 on gpu-7 exited with code 137 (OOMKilled): the whole job restarts as attempt 1, 1 more follows, restart 1 of 3."),
			lastFailure(oom, ""), builder.Incidents(incident(oom, v1alpha1.ScopeJob, true, second)),
			builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.Restarts, s.ChargedRestarts, s.NextStartTime = 1, 1, builder.TimePtr(605*second)
				s.Budgets = []v1alpha1.Budget{{Name: v1alpha1.BudgetOOMRestarts, Used: 1, Limit: 3}}
			})))},
		{"a node was lost and the job goes on", func() *story.View {
			job := builder.Job("mnist", builder.Workers(2), builder.RunsSince(0), phase(v1alpha1.PhaseRunning, v1alpha1.ReasonSomeReplicasRunning, "The job continues; worker-1 is not running."),
				lastFailure(lost, "not ready for 15s"), builder.Incidents(incident(lost, v1alpha1.ScopeReplica, false, 15*second)), builder.Avoided("gpu-7", 24*time.Hour),
				builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0", Replacements: "1:1"}))
			return view(job, worker(job, 0, corev1.PodRunning))
		}()},
		{"its command was not found", view(builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionFailed, true, v1alpha1.ReasonFatalExit, 555*second),
			builder.Condition(v1alpha1.ConditionFinished, true, v1alpha1.ReasonFatalExit, 555*second), builder.Condition(v1alpha1.ConditionStalled, true, v1alpha1.ReasonFatalExit, 555*second),
			phase(v1alpha1.PhaseFailed, v1alpha1.ReasonFatalExit, "worker-1 on gpu-7 exited with code 127 (Error), which is permanent under restartPolicy OnFailure."), lastFailure(missing, "trian.py: not found")))},
		{"it hangs", view(builder.Job("mnist", builder.Workers(2), builder.RunsSince(0), phase(v1alpha1.PhaseRunning, v1alpha1.ReasonAllReplicasRunning, "All replicas run."),
			builder.Condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonProgressStalled, 0),
			builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.Conditions[len(s.Conditions)-1].Message = "No progress: step 1200 since 11m."
			})))},
		{"it is suspended", view(builder.Job("mnist", builder.Workers(2), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0),
			phase(v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended, "The job is suspended: its spec has suspend: true.")))},
		{"it waits in a queue", view(builder.Job("mnist", builder.Workers(2), builder.Suspended(), builder.Condition(v1alpha1.ConditionQueued, true, v1alpha1.ReasonQueued, 0),
			func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"} }, phase(v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, "The job waits to be admitted by queue team-a.")))},
		{"it is suspended in its queue", view(builder.Job("mnist", builder.Workers(2), builder.Suspended(), builder.Condition(v1alpha1.ConditionQueued, true, v1alpha1.ReasonQueued, 0),
			func(j *v1alpha1.TrainingJob) {
				j.Labels, j.Annotations = map[string]string{v1alpha1.LabelQueue: "team-a"}, map[string]string{v1alpha1.AnnotationQueuePaused: "true"}
			}, phase(v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, "The job waits in queue team-a to be admitted: it was suspended.")))},
		{"it has succeeded", view(builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionSucceeded, true, v1alpha1.ReasonLeaderSucceeded, 500*second),
			builder.Condition(v1alpha1.ConditionFinished, true, v1alpha1.ReasonLeaderSucceeded, 500*second), phase(v1alpha1.PhaseSucceeded, v1alpha1.ReasonLeaderSucceeded, "worker-0 has succeeded.")))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := story.Why(c.view)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, e.String())
		})
	}
}

// An advice names the replica that matters, and no placeholder of a name is left in any.
func TestWhyFillsItsAdviceIn(t *testing.T) {
	for _, cause := range []v1alpha1.Cause{v1alpha1.CauseOOM, v1alpha1.CauseHang, v1alpha1.CauseStartup, v1alpha1.CauseRetryable, v1alpha1.CauseInfrastructure, v1alpha1.CausePreempted} {
		job := builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionFailed, true, "X", 0), phase(v1alpha1.PhaseFailed, "X", "It failed."), lastFailure(failure(cause, "Error", 3, 0), ""))
		e, err := story.Why(view(job))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(e.Next, "\n")
		if strings.Contains(text, "  ") {
			t.Errorf("cause %s: a name is left in %q", cause, text)
		}
	}
}

// A kubelet has one reason for a missing ConfigMap and for an image that may not run as root, and one for the deadline of the pod's own template.
func TestTheAdviceNamesWhatTheKubeletMeans(t *testing.T) {
	waits := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhasePending, "CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))
	ended := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionFailed, true, v1alpha1.ReasonMaxRestartsExceeded, 0),
		phase(v1alpha1.PhaseFailed, v1alpha1.ReasonMaxRestartsExceeded, "It failed."), lastFailure(failure(v1alpha1.CauseRetryable, v1alpha1.ReasonDeadlineExceeded, 0, 0), "Pod was active on the node longer than the specified deadline"))
	for want, v := range map[string]*story.View{
		"securityContext.runAsUser":                                        view(waits, worker(waits, 0, corev1.PodPending, builder.Waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))),
		"Raise activeDeadlineSeconds of the template's spec, or remove it": view(ended),
	} {
		e, err := story.Why(v)
		if text := strings.Join(e.Next, "\n"); err != nil || !strings.Contains(text, want) || strings.Contains(text, "runPolicy.activeDeadlineSeconds") {
			t.Errorf("%v, %q, want %q", err, text, want)
		}
	}
}

func TestReplicas(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(100), builder.RunsSince(0))
	var pods []*corev1.Pod
	for i := range 100 {
		options := []builder.PodOption{builder.Ready()}
		if i == 40 {
			options = []builder.PodOption{builder.ExitSaying(3, "Error", "no data")}
			pods = append(pods, worker(job, i, corev1.PodFailed, options...))
			continue
		}
		pods = append(pods, worker(job, i, corev1.PodRunning, options...))
	}
	lines, err := story.Replicas(view(job, pods...), 32)
	if err != nil {
		t.Fatal(err)
	}
	want := []story.Line{
		{Ranks: "0-39", Names: "worker-0-39", State: "Running", Node: "40 pods", Starts: 1, Age: "10m"},
		{Ranks: "40", Names: "worker-40", State: "Failed", Node: "node-worker-40", Starts: 1, Age: "10m", Why: "exit code 3 no data"},
		{Ranks: "41-99", Names: "worker-41-99", State: "Running", Node: "59 pods", Starts: 1, Age: "10m"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// A resumption begins another life of each replica, which has started only once its pod is there.
func TestStartsAfterASuspension(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(2), builder.RunsSince(0), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0-1:1"}))
	again := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{Replacement: 1}, corev1.PodRunning, builder.Ready())
	again.OwnerReferences = worker(job, 0, corev1.PodRunning).OwnerReferences
	lines, err := story.Replicas(view(job, again), 32)
	if err != nil || len(lines) != 2 || lines[0].Starts != 2 || lines[1].Starts != 1 {
		t.Errorf("%v, %+v, want 2 starts of worker-0 and 1 of worker-1, which has no pod yet", err, lines)
	}
	lines, err = story.Replicas(view(builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), builder.Suspended())), 32)
	if err != nil || len(lines) != 1 || lines[0].Starts != 1 {
		t.Errorf("%v, %+v, want 1 start of a replica that is suspended", err, lines)
	}
}

// The pods of an elastic job run on while torchrun's workers meet again.
func TestTheTimelineOfAnElasticJobShowsWhatRunningIncludes(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(2), builder.RunsSince(0))
	job.Spec.Framework = v1alpha1.PyTorch
	const caveat = "Running includes the time in which the workers of this elastic job meet again"
	if text := story.Timeline(view(job), 200, story.ASCII); strings.Contains(text, caveat) {
		t.Errorf("of a job that is not elastic:\n%s", text)
	}
	job.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: 1, MaxReplicas: 3}
	if text := story.Timeline(view(job), 200, story.ASCII); !strings.Contains(text, caveat) {
		t.Errorf("of an elastic job:\n%s", text)
	}
}

func TestTimeline(t *testing.T) {
	first := incident(failure(v1alpha1.CauseOOM, "OOMKilled", 137, 200*second), v1alpha1.ScopeJob, true, 5*second)
	lost := incident(inAttempt(1, failure(v1alpha1.CauseInfrastructure, "NodeLost", 0, 300*second)), v1alpha1.ScopeReplica, false, 15*second)
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("mnist", append([]builder.JobOption{
			builder.Workers(2), builder.RunsSince(260 * second), builder.Attempt(1), phase(v1alpha1.PhaseRunning, "", ""), builder.Incidents(lost, first),
			builder.Status(func(s *v1alpha1.TrainingJobStatus) {
				s.Restarts, s.RunningTime, s.RunningSeconds = 2, builder.TimePtr(40*second), 160
				s.LostSeconds = v1alpha1.LostSeconds{Starting: 90, Restart: 10}
			}),
		}, options...)...)
	}
	for name, width := range map[string]int{"80 columns": 80, "40 columns": 40} {
		t.Run(name, func(t *testing.T) {
			text := story.Timeline(view(job()), width, story.ASCII)
			golden(t, text)
			for line := range strings.Lines(text) {
				if strings.Contains(line, "#") && len(line) > width+1 {
					t.Errorf("the bar %q is wider than %d", line, width)
				}
			}
		})
	}
	t.Run("not started", func(t *testing.T) {
		golden(t, story.Timeline(view(builder.Job("mnist", builder.Workers(2))), 80, story.ASCII))
	})
}

// With more restarts than the status keeps, the first bar stands for all attempts that it does not tell of.
func TestSpansBeyondWhatTheStatusKeeps(t *testing.T) {
	var kept []v1alpha1.Incident
	for n := int32(14); n >= 5; n-- {
		kept = append(kept, incident(inAttempt(n, failure(v1alpha1.CauseRetryable, "Error", 1, time.Duration(n)*30*second)), v1alpha1.ScopeJob, true, second))
	}
	spans := story.Spans(view(builder.Job("mnist", builder.Workers(2), builder.StartedAt(0), builder.Attempt(15), builder.Incidents(kept...))))
	if len(spans) != 11 || spans[0].First != 0 || spans[0].Last != 5 || spans[10].First != 15 || spans[10].Last != 15 {
		t.Errorf("spans: %+v", spans)
	}
	for i, s := range spans {
		if s.To.Before(s.From) || i > 0 && s.From.Before(spans[i-1].To) {
			t.Errorf("span %d begins before the one before it ends: %+v", i, s)
		}
	}
}

// A restart that a user requested is no failure: the crash before it stays the last failure, and the timeline quotes the request.
func TestTheRestartOfAReplicaSaysWhoAskedForIt(t *testing.T) {
	crash := failure(v1alpha1.CauseRetryable, "Error", 1, 50*second)
	asked := failure(v1alpha1.CauseRequested, v1alpha1.ReasonRestartRequested, 0, 100*second)
	asked.Message, asked.ExitCode = "ann with kubectl tj: slow disk", nil
	job := builder.Job("mnist", builder.Workers(2), builder.RunsSince(0), lastFailure(crash, ""),
		builder.Incidents(incident(asked, v1alpha1.ScopeReplica, false, second), incident(crash, v1alpha1.ScopeReplica, true, second)),
		phase(v1alpha1.PhaseRunning, v1alpha1.ReasonAllReplicasRunning, "All replicas run."))
	v := view(job)
	e, err := story.Why(v)
	if err != nil || !strings.Contains(e.String(), "Last failure: worker-1") || !strings.Contains(e.String(), "A user requested a restart of worker-1 (ann with kubectl tj: slow disk), ") {
		t.Errorf("why (%v):\n%s", err, e)
	}
	const request = "A user requested a restart of worker-1 (ann with kubectl tj: slow disk): only this replica"
	if text := strings.Join(strings.Fields(story.Timeline(v, 80, story.ASCII)), " "); !strings.Contains(text, request) || !strings.Contains(text, "not charged") {
		t.Errorf("timeline:\n%s", text)
	}
}

// A job that reports no progress may hang unseen: why shows how old the newest lines are, the oldest first, and the next step.
func TestWhyOfARunThatMayHang(t *testing.T) {
	running := phase(v1alpha1.PhaseRunning, v1alpha1.ReasonAllReplicasRunning, "All replicas run.")
	at := func(before time.Duration) time.Time { return builder.Epoch.Add(10*time.Minute - before) }
	for _, c := range []struct {
		name    string
		edit    func(*story.View)
		options []builder.JobOption
		want    []string
		isNext  bool
	}{
		{"one rank is silent", func(v *story.View) {
			v.Newest = []story.NewestLine{{Replica: "worker-0", Time: at(5 * second)}, {Replica: "worker-1", Time: at(45 * second)}, {Replica: "worker-2"}}
		}, nil, []string{"The job reports no progress, so a hang is not noticed.", "Newest log line of each rank: worker-2 none yet, worker-1 45s old, worker-0 5s old."}, true},
		{"many ranks", func(v *story.View) {
			for i := range 10 {
				v.Newest = append(v.Newest, story.NewestLine{Replica: "r", Time: at(time.Duration(i) * second)})
			}
		}, nil, []string{"The job reports no progress, so a hang is not noticed.", "Newest log line of each rank: r 9s old, r 8s old, r 7s old, r 6s old, r 5s old, r 4s old, r 3s old, r 2s old, 2 more at most 1s old."}, true},
		{"no right to read logs", func(v *story.View) { v.LinesUnread = "you may not get pods/log." }, nil,
			[]string{"The job reports no progress, so a hang is not noticed.", "The newest log lines could not be read: you may not get pods/log."}, true},
		{"progress is reported", func(*story.View) {}, []builder.JobOption{func(job *v1alpha1.TrainingJob) { job.Spec.Progress = &v1alpha1.Progress{Port: 9500} }}, nil, false},
		{"it does not run yet", func(*story.View) {}, []builder.JobOption{phase(v1alpha1.PhasePending, v1alpha1.ReasonUnschedulable, "")}, nil, false},
		{"a replica is not running", func(*story.View) {}, []builder.JobOption{phase(v1alpha1.PhaseRunning, v1alpha1.ReasonSomeReplicasRunning, "")}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := builder.Job("mnist", append([]builder.JobOption{builder.Workers(1), builder.RunsSince(0), running}, c.options...)...)
			v := view(job, builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning))
			c.edit(v)
			e, err := story.Why(v)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, fact := range e.Facts {
				if strings.Contains(fact, "hang") || strings.Contains(fact, "ewest log line") {
					got = append(got, fact)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if isNext := strings.Contains(strings.Join(e.Next, " "), "docs/recovery.md#progress"); isNext != c.isNext {
				t.Errorf("next: %q", e.Next)
			}
		})
	}
}

// An Event about the last failure repeats the first facts: why leaves it out. Others stay.
func TestWhyRepeatsNoEvent(t *testing.T) {
	f := failure(v1alpha1.CauseRetryable, "Error", 1, 500*second)
	v := view(builder.Job("mnist", builder.Workers(2), builder.Attempt(1), lastFailure(f, "no data"), phase(v1alpha1.PhaseRestarting, v1alpha1.ReasonBackOff, "waits")))
	for message, reason := range map[string]string{
		"worker-1 on gpu-7 exited with code 1 (Error): the whole job restarts as attempt 1, restart 1 of 10. Last words: no data": "Restarting",
		"New pods avoid gpu-7.": "NodeAvoided",
	} {
		v.Events = append(v.Events, corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: builder.Time(501 * second)})
	}
	e, err := story.Why(v)
	if text := e.String(); err != nil || strings.Contains(text, "Event Restarting") || !strings.Contains(text, "Event NodeAvoided") {
		t.Errorf("%v:\n%s", err, text)
	}
}
