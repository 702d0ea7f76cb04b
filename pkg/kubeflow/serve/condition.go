package serve

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions.
const (
	Created    = "Created"
	Running    = "Running"
	Restarting = "Restarting"
	Suspended  = "Suspended"
	Succeeded  = "Succeeded"
	Failed     = "Failed"
	// Stalled is a condition of this operator alone: the job has no TrainingJob until a user acts. It is removed then.
	Stalled = "Stalled"
)

// is reports whether the condition of that type is True.
func (s *Status) is(kind string) bool {
	c := s.condition(kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

func (s *Status) condition(kind string) *Condition {
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

// withoutStalled returns a copy of the conditions without Stalled.
func (s *Status) withoutStalled() []Condition {
	return slices.DeleteFunc(slices.Clone(s.Conditions), func(c Condition) bool { return c.Type == Stalled })
}

// set sets a condition by the rules of Kubeflow's operator (pkg/util/status.go): a condition that changes moves to the end, Running and
// Restarting replace each other, the end of the job makes Running False, and nothing changes after Failed. Clients take the last condition, or
// the True one with the latest transition or update: so no two of them have the same second.
func (s *Status) set(c Condition, now time.Time) {
	known := s.condition(c.Type)
	if s.is(Failed) || known != nil && known.Status == c.Status && known.Reason == c.Reason {
		return
	}
	c.LastTransitionTime = s.nextTransition(now)
	c.LastUpdateTime = c.LastTransitionTime
	if known != nil && known.Status == c.Status {
		c.LastTransitionTime = known.LastTransitionTime
	}
	var kept []Condition
	for _, other := range s.Conditions {
		switch {
		case other.Type == c.Type, c.Type == Restarting && other.Type == Running, c.Type == Running && other.Type == Restarting:
			continue
		case (c.Type == Failed || c.Type == Succeeded) && other.Type == Running:
			other.Status = corev1.ConditionFalse
		}
		kept = append(kept, other)
	}
	kept = append(kept, c)
	s.Conditions = kept
}

// nextTransition returns now, or the second after the latest transition.
func (s *Status) nextTransition(now time.Time) metav1.Time {
	next := metav1.NewTime(now.Truncate(time.Second))
	for _, c := range s.Conditions {
		if !c.LastTransitionTime.Before(&next) {
			next = metav1.NewTime(c.LastTransitionTime.Add(time.Second))
		}
	}
	return next
}
