package plan

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// forceAfter is how long a deleted pod may stay when nothing is left to end it. Then its object is deleted by force.
const forceAfter = 30 * time.Second

// deletePods returns the steps that delete the doomed pods. On a lost node a pod is fenced first, and deleted by force if it
// stays for long; wake is when.
func deletePods(s *state.Snapshot, doomed func(state.Pod) bool, why string) (steps []Step, wake time.Time) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if !doomed(*p) {
			continue
		}
		if s.IsLost(p) && !p.Fenced {
			steps = append(steps, FencePod{Name: p.Name, UID: p.UID})
		}
		if p.Deleted.IsZero() {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Version: versionOf(s, p, why), Why: why, Grace: graceOf(s, p, why)})
			continue
		}
		due := forceTime(s, p)
		if !due.IsZero() && !s.Now.Before(due) {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: why, Force: true})
			continue
		}
		wake = state.Earliest(wake, due)
	}
	return steps, wake
}

// versionOf returns the resourceVersion that the deleted pod must have; empty for any. In a restart the latest status of a
// running pod may show what caused the restart. A pod that could restart in place may already have the request to do so, from an
// operator that saw it run sooner.
func versionOf(s *state.Snapshot, p *state.Pod, why string) string {
	if why == WhyPastLife && p.CanRun() && (p.HasStarted() || state.KeepsPods(s.Job)) {
		return p.Version
	}
	return ""
}

// graceOf returns how many seconds the pod has to end; nil for the pod's own grace period. In a restart the others have already
// broken off its work. It is never 0: the API server would remove the pod before its node has ended it, and a removed pod counts
// as unable to act.
func graceOf(s *state.Snapshot, p *state.Pod, why string) *int64 {
	own := state.GraceOf(&s.Job.Spec, p.Slot.Role)
	grace := own
	if why == WhyPastLife && s.InRange(p.Slot) {
		grace = min(own, int64(ptr.Deref(s.Job.Spec.Recovery.TerminationGraceSeconds, v1alpha1.DefaultTerminationGraceSeconds)))
	}
	if grace = max(grace, build.LeastGrace); grace == own {
		return nil
	}
	return &grace
}

// deleteFormer returns the steps that delete the pods of an earlier job of the same name on nodes that are surely lost. That job is gone,
// so no other controller deletes them.
func deleteFormer(s *state.Snapshot) []Step {
	var steps []Step
	for i := range s.Former {
		if p := &s.Former[i]; s.IsSurelyLost(p) && !p.Deleted.IsZero() && !p.HoldsVolume && !s.Now.Before(p.ForceNext) {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: WhyFormerJob, Force: true})
		}
	}
	return steps
}

// forceTime returns when a deleted pod may be deleted by force, for the first time or again; zero for never.
func forceTime(s *state.Snapshot, p *state.Pod) time.Time {
	if first := firstForce(s, p); !first.IsZero() {
		return state.Latest(first, p.ForceNext)
	}
	return time.Time{}
}

// firstForce returns when a deleted pod may be deleted by force; zero for never. The first line that fits decides.
//
//	its processes have ended                                        forceAfter after its deletion
//	a volume on it could be written by two; its node may be lost,
//	and the Service still has it                                    never
//	its node is surely lost                                         forceAfter after that, and after its deletion
//	it may run, and recovery.forceAfterSeconds is set               that long after its grace period
//	it may run                                                      never
func firstForce(s *state.Snapshot, p *state.Pod) time.Time {
	patience := s.Job.Spec.Recovery.ForceAfterSeconds
	switch {
	case !p.CanRun():
		return p.Deleted.Add(forceAfter)
	case p.HoldsVolume, s.IsLost(p) && !p.Fenced:
		return time.Time{}
	case s.IsSurelyLost(p):
		return state.Latest(p.Deleted, s.NodeOf(p).Loss.Time).Add(forceAfter)
	case patience != nil:
		return p.EndsBy.Add(time.Duration(*patience) * time.Second)
	default:
		return time.Time{}
	}
}
