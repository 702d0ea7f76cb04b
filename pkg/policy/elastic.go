package policy

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// fit returns the workers of an elastic job to park, because they have fitted nowhere for long, or the parked workers to try
// again. wake is when this may change without another event; zero for never.
func fit(s *state.Snapshot) (park, unpark []state.Slot, wake time.Time) {
	elastic := s.Job.Spec.Elastic
	if elastic == nil {
		return nil, nil, time.Time{}
	}
	patience := time.Duration(ptr.Deref(elastic.ShrinkAfterSeconds, v1alpha1.DefaultShrinkAfterSeconds)) * time.Second
	parked := parkedSlots(s)
	canMiss := int(s.Job.Spec.Replicas(v1alpha1.Worker)-elastic.MinReplicas) - len(parked)
	for r := range s.Replicas() {
		if r.Slot.Role != v1alpha1.Worker || canMiss <= 0 || r.Slot == state.Leader(&s.Job.Spec) || !r.FitsNowhere() {
			continue
		}
		due := r.Pod.Waiting.Time.Add(patience)
		if r.Pod.Nominated { // a node with GPUs takes minutes to start, and the autoscaler removes it if its pod is gone
			due = due.Add(growAfter(elastic))
		}
		if s.Now.Before(due) {
			wake = state.Earliest(wake, due)
			continue
		}
		park = append(park, r.Slot)
		canMiss--
	}
	leader := s.Replica(state.Leader(&s.Job.Spec))
	switch {
	case len(park) > 0:
		return park, nil, wake
	case leader != nil && isRendezvousHost(&s.Job.Spec, leader.Slot) && leader.FitsNowhere():
		return parkForLeader(s, leader, patience, canMiss)
	default:
		unpark, due := tryAgain(s, parked)
		return nil, unpark, state.Earliest(wake, due)
	}
}

func growAfter(elastic *v1alpha1.Elastic) time.Duration {
	return time.Duration(ptr.Deref(elastic.GrowAfterSeconds, v1alpha1.DefaultGrowAfterSeconds)) * time.Second
}

// tryAgain returns the parked workers if it is time to try them again. Else wake is when it will be; zero for never.
func tryAgain(s *state.Snapshot, parked []state.Slot) (unpark []state.Slot, wake time.Time) {
	workers := s.Memory[v1alpha1.Worker]
	if len(parked) == 0 || workers.ParkedTime == nil || workers.Succeeded.Len() > 0 {
		return nil, time.Time{}
	}
	due := workers.ParkedTime.Add(growAfter(s.Job.Spec.Elastic))
	if s.Now.Before(due) {
		return nil, due
	}
	return parked, time.Time{}
}

// parkForLeader returns the worker to park so that the leader fits, which has fitted nowhere for long. Without the leader the
// others hold their nodes for nothing. It parks the last worker that has a node. It parks one at a time, because one node may be
// enough.
func parkForLeader(s *state.Snapshot, leader *state.Replica, patience time.Duration, canMiss int) (park, unpark []state.Slot, wake time.Time) {
	var last *state.Replica
	for r := range s.Replicas() {
		if r.Slot.Role == v1alpha1.Worker && r.NeedsPod() && r.HasNode() {
			last = r
		}
	}
	if last == nil || canMiss <= 0 {
		return nil, nil, time.Time{}
	}
	since := leader.Pod.Waiting.Time
	if parked := s.Memory[v1alpha1.Worker].ParkedTime; parked != nil {
		since = state.Latest(since, parked.Time)
	}
	if due := since.Add(patience); s.Now.Before(due) {
		return nil, nil, due
	}
	return []state.Slot{last.Slot}, nil, time.Time{}
}

func parkedSlots(s *state.Snapshot) []state.Slot {
	var parked []state.Slot
	for r := range s.Replicas() {
		if r.State == state.Parked {
			parked = append(parked, r.Slot)
		}
	}
	return parked
}
