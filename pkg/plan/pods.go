package plan

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/framework"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// Placement is what the pods of one plan have in common beside their job.
type Placement struct {
	// Avoided are the nodes to which the pods prefer all others.
	Avoided []string
	// Gang is the scheduler of the job's pod group.
	Gang v1alpha1.Gang
	// SparePriorityClass is the operator's default for spares.
	SparePriorityClass string
}

// placement returns where the pods go that are created now.
func placement(s *state.Snapshot, v *policy.Verdict) *Placement {
	return &Placement{Avoided: v.Avoided, Gang: s.Gang.Scheduler, SparePriorityClass: s.SparePriorityClass}
}

// createPods creates those that return to their nodes before those that take any. It makes no more steps than show that there are too
// many for one plan.
func createPods(s *state.Snapshot, v *policy.Verdict, missing []*state.Replica) []Step {
	if len(missing) == 0 {
		return nil
	}
	var steps []Step
	placement, leader := placement(s, v), state.Leader(&s.Job.Spec)
	// if not all fit, the leader must be among those that do; a gang's minimum sees to that itself
	leads := s.Job.Spec.Elastic != nil && !s.IsGang()
	returns := slices.ContainsFunc(missing, func(r *state.Replica) bool { return home(s, v, r.Slot) != "" })
	for _, isLast := range []bool{false, true} {
		for _, r := range missing {
			create := CreatePod{Slot: r.Slot, Life: r.Life, Home: home(s, v, r.Slot), First: leads && r.Slot == leader, Placement: placement}
			create.Last = returns && create.Home == "" && !create.First
			if create.Last == isLast && len(steps) <= maxPodWrites {
				create.Name = state.PodName(s.Job.Name, r.Slot, r.Life)
				steps = append(steps, create)
			}
		}
	}
	return steps
}

// home returns the node of the slot's life before, to which its new pod returns if it can. It is empty if none is known, if the node is
// avoided, or if the replica must be in one domain with others: preferences for nodes of several domains would contradict that.
func home(s *state.Snapshot, v *policy.Verdict, slot state.Slot) string {
	node, spec := s.Homes[slot], &s.Job.Spec
	if slices.Contains(v.Avoided, node) || state.RequiresDomain(spec) && state.InDomain(spec, slot.Role) {
		return ""
	}
	return node
}

// Pods returns the function that builds the pods of the job's steps, one at a call. Several goroutines may call it at once. The first
// call computes what all pods share.
func Pods(job *v1alpha1.TrainingJob) func(CreatePod) *corev1.Pod {
	environment := sync.OnceValue(func() func(state.Slot) []corev1.EnvVar {
		return framework.For(job.Spec.Framework).Environment(job)
	})
	complete := sync.OnceValue(func() func(state.Slot, *corev1.Pod) { return framework.Complete(job) })
	return func(step CreatePod) *corev1.Pod {
		if step.Spare {
			spare := build.Spare(job, step.Slot.Role, step.Slot.Index, step.Placement.Avoided, step.Placement.SparePriorityClass)
			placeSpare(job, step.Slot.Role, spare, step.Placement.Gang)
			return spare
		}
		pod := build.Pod(job, step.Slot, step.Life, environment()(step.Slot), step.Placement.Avoided)
		build.TellPort(pod, framework.LeaderPort(job, step.Life.Attempt))
		build.Prefer(pod, step.Home)
		complete()(step.Slot, pod)
		place(job, step.Slot.Role, pod, step.Placement.Gang)
		return pod
	}
}

// placeSpare has the scheduler of the gang place the spare where the replicas are, without making it one of the gang.
func placeSpare(job *v1alpha1.TrainingJob, role v1alpha1.Role, pod *corev1.Pod, scheduler v1alpha1.Gang) {
	scheduling := ptr.Deref(job.Spec.Scheduling, v1alpha1.Scheduling{})
	build.Schedule(pod, &scheduling)
	if provider := gang.For(scheduler); provider != nil {
		provider.Follow(pod, &scheduling)
	}
	if state.InDomain(&job.Spec, role) {
		build.KeepSpareNear(pod, job, scheduling.Topology)
	}
}

// place makes the pod one of its gang, and keeps it near the others.
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
