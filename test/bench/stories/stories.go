// Package stories makes the jobs that the tests of the report, of its pages and of their pictures tell of: as a cluster and an
// operator's log would show them, and big enough to be a burden.
package stories

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/sim/builder"
)

// One returns a job of one replica that has succeeded without a restart.
func One() (*story.View, []journal.Line) {
	job := builder.Job("mnist", builder.Framework(v1alpha1.PyTorch), builder.Workers(1), builder.StartedAt(0),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) {
			s.Phase, s.Reason, s.Message = v1alpha1.PhaseSucceeded, v1alpha1.ReasonLeaderSucceeded, "worker-0 leads the job and exited with code 0."
			s.Ready, s.RunningTime, s.CompletionTime, s.RunningSeconds = "-", builder.TimePtr(9*time.Second), builder.TimePtr(4*time.Minute), 231
			s.LostSeconds = v1alpha1.LostSeconds{Nodes: 2, Starting: 7}
		}),
		builder.Condition(v1alpha1.ConditionSucceeded, true, v1alpha1.ReasonLeaderSucceeded, 4*time.Minute),
		builder.Condition(v1alpha1.ConditionFinished, true, v1alpha1.ReasonLeaderSucceeded, 4*time.Minute))
	v := viewOf(job, 5*time.Minute)
	v.Pods = []corev1.Pod{podOf(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, times{0, 9 * time.Second, 4 * time.Minute})}
	v.Events = []corev1.Event{event("Normal", "Running", "AllReplicasRunning: All replicas run.", 9*time.Second),
		event("Normal", "Succeeded", "LeaderSucceeded: worker-0 leads the job and exited with code 0.", 4*time.Minute)}
	return v, nil
}

// incident describes one of the restarts of Many: of which worker in which attempt, why and when, and how long the job took to
// run again.
type incident struct {
	attempt, index int32
	cause          v1alpha1.Cause
	reason, said   string
	code           int32
	at, detection  time.Duration
	again          time.Duration
}

// Many returns a job of n workers that runs after three whole-job restarts, with a node that it avoids.
func Many(n int) (*story.View, []journal.Line) {
	broke := []incident{
		{0, 3, v1alpha1.CauseRetryable, "Error", "RuntimeError: NCCL communicator was aborted on rank 3", 1, 22 * time.Minute, 2 * time.Second, 41 * time.Second},
		{1, int32(n / 2), v1alpha1.CauseInfrastructure, v1alpha1.ReasonNodeLost, "", 0, 51 * time.Minute, 16 * time.Second, 95 * time.Second},
		{2, 1, v1alpha1.CauseOOM, "OOMKilled", "", 137, 80 * time.Minute, time.Second, 38 * time.Second},
	}
	options := []builder.JobOption{builder.Framework(v1alpha1.PyTorch), builder.Leader(v1alpha1.Master), builder.Workers(n - 1), builder.StartedAt(0), builder.Attempt(3)}
	job := builder.Job("llama-7b", options...)
	v := viewOf(job, 108*time.Minute)
	var lines []journal.Line
	for i := range broke {
		b := &broke[i]
		restart := b.incident(n)
		job.Status.Incidents = append([]v1alpha1.Incident{restart}, job.Status.Incidents...)
		lines = append(lines, journal.Line{
			Message: journal.MessageIncident, Job: job.Name, Namespace: job.Namespace, UID: job.UID,
			Framework: job.Spec.Framework, Replicas: map[v1alpha1.Role]int32{v1alpha1.Master: 1, v1alpha1.Worker: int32(n - 1)}, StartTime: builder.TimePtr(0),
			Attempt: b.attempt, Number: int32(i) + 1, Incident: &restart, DetectionSeconds: int64(b.detection.Seconds()),
		})
		runs := lines[len(lines)-1]
		runs.Message, runs.Incident, runs.Attempt = journal.MessageRuns, nil, b.attempt+1
		runs.RunningTime, runs.CostSeconds = builder.TimePtr(b.at+b.again), int64(b.again.Seconds())
		lines = append(lines, runs)
	}
	last := broke[len(broke)-1]
	runs := last.at + last.again
	many(job, n, runs)
	v.Pods = append(v.Pods, podOf(job, state.Slot{Role: v1alpha1.Master}, state.Life{Attempt: 3}, times{last.at + 8*time.Second, runs - 6*time.Second, 0}))
	for i := range n - 1 {
		started := runs - time.Duration((i*7)%11)*time.Second
		v.Pods = append(v.Pods, podOf(job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{Attempt: 3}, times{last.at + 8*time.Second, started, 0}))
	}
	v.Events = []corev1.Event{
		event("Normal", "Running", "AllReplicasRunning: All replicas run.", runs),
		event("Warning", "NodeAvoided", "New pods avoid gpu-12 until 2026-01-06 12:51 UTC: NodeLost, failure 1.", 51*time.Minute+16*time.Second),
		event("Warning", "Restarting", fmt.Sprintf("worker-%d on gpu-12 was lost (NodeLost): the whole job restarts as attempt 2, %d more follow, not charged.", n/2, n-1), 51*time.Minute+16*time.Second),
	}
	return v, lines
}

// many sets what the status of Many says.
func many(job *v1alpha1.TrainingJob, n int, runs time.Duration) {
	s := &job.Status
	s.Phase, s.Reason, s.Message = v1alpha1.PhaseRunning, v1alpha1.ReasonAllReplicasRunning, "All replicas run."
	s.Ready, s.Restarts, s.ChargedRestarts, s.RunningTime = fmt.Sprintf("%d/%d", n, n), 3, 2, builder.TimePtr(48*time.Second)
	s.RunningSeconds = 4616 // of attempts 0 to 2
	s.LostSeconds = v1alpha1.LostSeconds{Nodes: 74, Starting: 96, Detection: 19, Restart: 33, Redone: 610}
	s.Progress = &v1alpha1.ProgressStatus{Step: 48200, Checkpoint: "s3://runs/llama-7b/48000"}
	s.LastFailure = &s.Incidents[0].Failure
	s.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: "gpu-12", Failures: 1, Reason: v1alpha1.ReasonNodeLost, ExpirationTime: builder.Time(25 * time.Hour)}}
	builder.Condition(v1alpha1.ConditionRunning, true, v1alpha1.ReasonAllReplicasRunning, runs)(job)
	builder.Condition(v1alpha1.ConditionScheduled, true, "PodsScheduled", runs-30*time.Second)(job)
	s.Conditions[len(s.Conditions)-1].Message = "All pods have nodes, and none of them is one that the job avoids."
}

func (b *incident) incident(n int) v1alpha1.Incident {
	i := v1alpha1.Incident{
		Failure: v1alpha1.Failure{
			Role: v1alpha1.Worker, Index: b.index, Attempt: b.attempt, Cause: b.cause, Reason: b.reason, Message: b.said,
			Pod: fmt.Sprintf("llama-7b-worker-%d", b.index), Node: fmt.Sprintf("gpu-%d", 12+b.attempt*3-3), Time: builder.Time(b.at),
		},
		Scope: v1alpha1.ScopeJob, Followers: int32(n - 1), Charged: b.cause != v1alpha1.CauseInfrastructure, RestartTime: builder.Time(b.at + b.detection),
	}
	if b.code > 0 {
		i.ExitCode = &b.code
	}
	return i
}

func viewOf(job *v1alpha1.TrainingJob, now time.Duration) *story.View {
	job.Namespace, job.UID = "vision", "6f0c6f5e-6a53-4b4e-8ae7-5f4f3c2b1a09"
	return &story.View{Job: job, Now: builder.Epoch.Add(now)}
}

// times are when a pod was created, ran and was over, with exit code 0; over is 0 of one that runs.
type times struct{ created, ran, over time.Duration }

// podOf returns the pod of a life.
func podOf(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life, at times) corev1.Pod {
	phase := corev1.PodRunning
	if at.over > 0 {
		phase = corev1.PodSucceeded
	}
	p := builder.Pod(job, slot, life, phase)
	p.CreationTimestamp = builder.Time(at.created)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: builder.Time(at.created + time.Second)})
	s := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: builder.Time(at.ran)}}}
	if at.over > 0 {
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: builder.Time(at.ran), FinishedAt: builder.Time(at.over), Reason: "Completed"}}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{s}
	return *p
}

func event(kind, reason, message string, at time.Duration) corev1.Event {
	return corev1.Event{Type: kind, Reason: reason, Message: message, EventTime: metav1.NewMicroTime(builder.Epoch.Add(at))}
}
