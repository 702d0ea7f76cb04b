package plan

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// createPods creates the missing pods, the leader's first where the others need it. It stops just above the limit of one plan.
func createPods(s *state.Snapshot, v *policy.Verdict, missing []*state.Replica) []Step {
	var steps []Step
	common := &Placement{Avoided: v.Avoided, Excluded: nodes.Excluded(s), Gang: s.Gang.Scheduler, Gated: s.KeepsEnded}
	// if not all pods fit, the leader must; a gang's minimum ensures that itself
	leads := s.Job.Spec.Elastic != nil && !s.IsGang()
	for _, r := range missing[:min(len(missing), maxPodWrites+1)] {
		create := CreatePod{Name: state.PodName(s.Job.Name, r.Slot, r.Life), Slot: r.Slot, Life: r.Life, Placement: common}
		if leads && r.Slot == state.Leader(&s.Job.Spec) {
			create.Stage = Prerequisites
		}
		steps = append(steps, create)
	}
	return steps
}

// Pods returns the function that builds the pods of the job's steps one by one. Several goroutines may call it at once. It
// computes the common part once, with the first pod.
func Pods(job *v1alpha1.TrainingJob) func(CreatePod) *corev1.Pod {
	environment := sync.OnceValue(func() func(state.Slot) []corev1.EnvVar {
		return framework.Environment(job)
	})
	complete := sync.OnceValue(func() func(state.Slot, *corev1.Pod) { return framework.Complete(job) })
	return func(step CreatePod) *corev1.Pod {
		pod := build.Pod(job, step.Slot, step.Life, environment()(step.Slot), step.Placement.Avoided)
		build.Exclude(pod, step.Placement.Excluded)
		if step.Placement.Gated {
			build.Gate(pod)
		}
		build.TellPort(pod, build.LeaderPort(job, step.Life.Attempt))
		complete()(step.Slot, pod)
		place(job, step.Slot.Role, pod, step.Placement.Gang)
		return pod
	}
}

// place makes the pod a member of its gang, and keeps it near the others.
func place(job *v1alpha1.TrainingJob, role v1alpha1.Role, pod *corev1.Pod, scheduler v1alpha1.Gang) {
	scheduling := ptr.Deref(job.Spec.Scheduling, v1alpha1.Scheduling{})
	build.Schedule(pod, &scheduling)
	provider := gang.For(scheduler)
	switch {
	case provider == nil:
	case joinsGang(&job.Spec, scheduler, role):
		provider.Join(pod, state.GroupNameOf(job))
	default:
		provider.Follow(pod, &scheduling)
	}
	if state.InDomain(&job.Spec, role) && (provider == nil || !provider.Constrains(scheduling.Topology)) {
		build.KeepNear(pod, job, scheduling.Topology)
	}
}

// waitsForWell is how long a pod that excludes nodes finds no other before it is created again, without the excluded nodes that are well again.
const waitsForWell = 30 * time.Second

// deleteOfWellNodes returns the steps that delete pods that find no node while a node that they exclude is well again: no pod waits for a node that is
// well. They are created again in the same life, because they never ran. It also returns when to look again; zero for never.
func deleteOfWellNodes(s *state.Snapshot) (steps []Step, wake time.Time) {
	isLost := func(name string) bool { // or will be
		return slices.ContainsFunc(s.Nodes, func(n state.Node) bool { return n.Loss.Reason != "" && n.Name == name })
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		waits := !s.IsPast(p) && p.CanRun() && !p.Scheduled() && p.Deleted.IsZero() && len(p.Excludes) > 0
		switch due := p.Created.Add(waitsForWell); {
		case !waits:
		case s.Now.Before(due):
			wake = state.Earliest(wake, due)
		case !slices.ContainsFunc(p.Excludes, func(name string) bool { return !isLost(name) }): // no event reaches the job of a node without its pods
			wake = state.Earliest(wake, s.Now.Add(waitsForWell))
		default:
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Version: p.Version, Why: WhyNodeIsBack})
		}
	}
	return steps, wake
}

// due returns the missing replicas whose lives may begin now.
func due(s *state.Snapshot) []*state.Replica {
	if s.Now.Before(s.NextAttempt()) || !s.AttemptMayBegin() {
		return nil
	}
	return slices.DeleteFunc(missing(s), func(r *state.Replica) bool { return s.Now.Before(s.NextStart(r.Slot)) })
}

// nextLife returns when the next missing replica that waits may begin its life; zero if none waits.
func nextLife(s *state.Snapshot) time.Time {
	var next time.Time
	for _, r := range missing(s) {
		if start := s.NextStart(r.Slot); s.Now.Before(start) {
			next = state.Earliest(next, start)
		}
	}
	return next
}

// missing returns the replicas that need a pod, have none, and whose old pod can no longer act. A life whose pod is gone never
// runs again: its restart may only be delayed.
func missing(s *state.Snapshot) []*state.Replica {
	var list []*state.Replica
	for r := range s.Replicas() {
		if r.State == state.Missing && !r.FormerCanAct {
			list = append(list, r)
		}
	}
	return list
}

func isIncomplete(s *state.Snapshot) bool {
	return !s.HasService || len(due(s)) > 0
}
