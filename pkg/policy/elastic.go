package policy

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Fit returns which workers of an elastic job to park because they have fitted nowhere for long, or which of the parked ones
// to try again; and when (zero: never) that may change although nothing else happens.
func Fit(s *state.Snapshot) (park, retry []state.Slot, wake time.Time) {
	elastic := s.Job.Spec.Elastic
	if elastic == nil {
		return nil, nil, time.Time{}
	}
	patience := time.Duration(ptr.Deref(elastic.ShrinkAfterSeconds, v1alpha1.DefaultShrinkAfterSeconds)) * time.Second
	var parked []state.Slot
	spare := int(s.Job.Spec.Replicas(v1alpha1.Worker) - elastic.MinReplicas)
	for _, slot := range s.Slots() {
		if s.IsParked(slot) {
			parked = append(parked, slot)
		}
	}
	spare -= len(parked)
	for _, slot := range s.Slots() {
		p := s.Present(slot)
		if slot.Role != v1alpha1.Worker || spare <= 0 || slot == state.Leader(&s.Job.Spec) || !fitsNowhere(p) {
			continue
		}
		if due := p.Waiting.Time.Add(patience); s.Now.Before(due) {
			wake = Earliest(wake, due)
			continue
		}
		park = append(park, slot)
		spare--
	}
	since := s.Memory[v1alpha1.Worker].ParkedTime
	if len(park) > 0 || len(parked) == 0 || since == nil || s.Memory[v1alpha1.Worker].Succeeded.Len() > 0 {
		return park, nil, wake
	}
	due := since.Add(time.Duration(ptr.Deref(elastic.GrowAfterSeconds, v1alpha1.DefaultGrowAfterSeconds)) * time.Second)
	if s.Now.Before(due) {
		return nil, nil, Earliest(wake, due)
	}
	return nil, parked, wake
}

// fitsNowhere reports whether the scheduler finds no node for the pod.
func fitsNowhere(p *state.Pod) bool {
	return p != nil && p.Deleted.IsZero() && p.Waiting.Reason == v1alpha1.ReasonUnschedulable && !p.Waiting.Time.IsZero()
}

// SparesInTheWay returns how many placeholders of a role are to make way: one for each of its replicas that fits nowhere else.
func SparesInTheWay(s *state.Snapshot, role v1alpha1.Role) int {
	n := 0
	for _, slot := range s.Slots() {
		if slot.Role == role && s.IsWanted(slot) && fitsNowhere(s.Present(slot)) {
			n++
		}
	}
	return n
}
