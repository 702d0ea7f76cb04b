package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// forceAfter is how long a pod on a lost node may take to go before its object is deleted by force.
const forceAfter = 30 * time.Second

// leastGrace is the shortest time, in seconds, that a pod has to end unless it is deleted by force.
const leastGrace = 1

// deletePods returns the steps that end the doomed pods: on a lost node that is to fence the pod, and to delete it by force
// when it has not gone for long; wake is when that will be.
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

// versionOf returns the resourceVersion of the pod for its deletion; empty for any. In a restart, the last status of a running pod may
// show the cause; and a pod that could restart in place may have begun to, by an operator that saw it run sooner.
func versionOf(s *state.Snapshot, p *state.Pod, why string) string {
	if why == WhyPastLife && p.CanRun() && (p.HasStarted() || state.KeepsPods(s.Job)) {
		return p.Version
	}
	return ""
}

// graceOf returns how many seconds the pod has to end; nil for the pod's own time. In a restart the other ranks are gone. It is never 0:
// the API server removes such a pod before its node has ended it, and a pod that is gone can no longer act.
func graceOf(s *state.Snapshot, p *state.Pod, why string) *int64 {
	template := s.Job.Spec.ReplicaSpecs[p.Slot.Role].Template.Spec
	own := ptr.Deref(template.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	grace := own
	if why == WhyPastLife && s.InRange(p.Slot) {
		grace = min(own, int64(ptr.Deref(s.Job.Spec.Recovery.TerminationGraceSeconds, v1alpha1.DefaultTerminationGraceSeconds)))
	}
	if grace = max(grace, leastGrace); grace == own {
		return nil
	}
	return &grace
}

// deleteFormer returns the steps that end pods of an earlier job of the same name on lost nodes: that job is gone, and no other
// controller ends them.
func deleteFormer(s *state.Snapshot) []Step {
	var steps []Step
	for i := range s.Former {
		if p := &s.Former[i]; s.IsLost(p) && !p.Deleted.IsZero() && !p.HoldsVolume {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: WhyFormerJob, Force: true})
		}
	}
	return steps
}

// forceTime returns when a deleted pod may be deleted by force; zero for never. None of its processes runs, or its node is lost and it is
// out of the Service, or the user gives pods on healthy nodes no longer than that.
func forceTime(s *state.Snapshot, p *state.Pod) time.Time {
	patience := s.Job.Spec.Recovery.ForceAfterSeconds
	node, _ := s.NodeTrouble(p)
	switch {
	case !p.CanRun():
		return p.Deleted.Add(forceAfter)
	case p.HoldsVolume, s.IsLost(p) && !p.Fenced:
		return time.Time{}
	case s.IsLost(p) && node.Lost.Time.After(p.Deleted):
		return node.Lost.Time.Add(forceAfter)
	case s.IsLost(p):
		return p.Deleted.Add(forceAfter)
	case patience != nil:
		return p.EndsBy.Add(time.Duration(*patience) * time.Second)
	default:
		return time.Time{}
	}
}
