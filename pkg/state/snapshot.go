package state

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Snapshot is all that one reconcile may know. It is read-only.
type Snapshot struct {
	Now time.Time
	Job *v1alpha1.TrainingJob
	// Memory is the job's status decoded.
	Memory Memory
	// Pods are the job's pods of every life, by slot and life.
	Pods []Pod
	// Former are the pods of an earlier job of the same name that are not gone yet: they hold the names of the job's own. Their
	// Slot and Life say nothing.
	Former []Pod
	// HasService says whether the job's headless Service exists.
	HasService bool
	// Refusal is why the API server would not take a child of the job, spares aside; nil if it took all of them.
	Refusal *Refusal
	// SpareRefusal is why it would not take a spare.
	SpareRefusal *Refusal
	// Spares are the job's placeholder pods: Slot.Index counts them, they have no life.
	Spares []Pod
	// SparesFrom is when missing spares may be created, after some that have failed; zero for at once.
	SparesFrom time.Time
	// Nodes are the nodes in trouble that hold pods of the job, by name.
	Nodes []Node
	// Usable are the nodes that new pods could take; nil if the operator may not read nodes, or the job avoids none.
	Usable *Usable
	// HasLease says whether the job's progress Lease exists; Progress is what it says.
	HasLease bool
	Progress Progress
	// Gang is what is known of the job's pod groups.
	Gang Gang
	// SparePriorityClass is the operator's default for placeholder pods.
	SparePriorityClass string
	// Recorded is when this process last wrote the job's status; zero if it has not.
	Recorded time.Time

	present map[Slot]*Pod
	slots   []Slot
}

// Usable counts the nodes that are ready and whose taints the job tolerates.
type Usable struct {
	// Others is the number of those that the job does not avoid.
	Others int
	// Avoided are the names of those that it avoids.
	Avoided []string
}

// Avoided are the nodes that a new pod avoids.
type Avoided struct {
	// Required are the nodes that it never takes.
	Required []string
	// Preferred are the nodes that it takes if it fits nowhere else.
	Preferred []string
}

// Refusal is a permanent error of the API server on a child of the job.
type Refusal struct {
	// Reason is a reason of the condition Stalled; empty if a name is not free yet, which passes by itself.
	Reason string
	// Message is the API server's own sentence.
	Message string
	// Retry is when to try again.
	Retry time.Time
	// Told says that an Event was written about it.
	Told bool
}

// Pends reports whether it is not yet time to try again. Of a nil Refusal it returns false.
func (r *Refusal) Pends(now time.Time) bool { return r != nil && now.Before(r.Retry) }

// Complete sorts the snapshot's pods and nodes, decodes the job's memory and indexes both; a snapshot is used after that.
// It returns an error if the status cannot be decoded.
func (s *Snapshot) Complete() (err error) {
	if s.Memory, err = ReadMemory(s.Job); err != nil {
		return err
	}
	slices.SortFunc(s.Pods, bySlotAndLife)
	slices.SortFunc(s.Spares, bySlotAndLife)
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	s.slots = nil
	for _, role := range s.Job.Spec.Roles() {
		for i := range int(s.Job.Spec.Replicas(role)) {
			s.slots = append(s.slots, Slot{role, i})
		}
	}
	s.present = make(map[Slot]*Pod, len(s.slots))
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Life == s.Life(p.Slot) && s.InRange(p.Slot) {
			s.present[p.Slot] = p
		}
	}
	return nil
}

func bySlotAndLife(a, b Pod) int {
	return cmp.Or(
		a.Slot.Role.Compare(b.Slot.Role),
		cmp.Compare(a.Slot.Index, b.Slot.Index), a.Life.Compare(b.Life))
}

// Slots returns the job's slots in the order of their ranks.
func (s *Snapshot) Slots() []Slot { return s.slots }

// InRange reports whether the job still has the slot.
func (s *Snapshot) InRange(slot Slot) bool {
	return slot.Index < int(s.Job.Spec.Replicas(slot.Role))
}

// Life returns the slot's present life.
func (s *Snapshot) Life(slot Slot) Life {
	life := Life{Attempt: int(s.Job.Status.Attempt)}
	if m := s.Memory[slot.Role]; m != nil {
		life.Replacement = m.Replacements[slot.Index]
	}
	return life
}

// NextStart returns the time before which the present life of a restarted slot may not begin; zero if it is not known any more.
func (s *Snapshot) NextStart(slot Slot) time.Time {
	if m := s.Memory[slot.Role]; m != nil && m.NextStarts[slot.Index] > 0 {
		return time.Unix(int64(m.NextStarts[slot.Index]), 0)
	}
	return time.Time{}
}

// Present returns the pod of the slot's present life, or nil.
func (s *Snapshot) Present(slot Slot) *Pod { return s.present[slot] }

// IsPast reports whether the pod belongs to a life that is over, or to a slot that the job no longer has.
func (s *Snapshot) IsPast(p *Pod) bool {
	return p.Life.Before(s.Life(p.Slot)) || !s.InRange(p.Slot)
}

// IsStale reports whether a pod shows that the job we read is older than its pods: it is of a later life, or is there
// although the job, as read, has never started.
func (s *Snapshot) IsStale() bool {
	if s.Job.Status.StartTime == nil {
		return len(s.Pods) > 0
	}
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return s.Life(p.Slot).Before(p.Life) })
}

// HasSucceeded reports whether the slot is known to have succeeded.
func (s *Snapshot) HasSucceeded(slot Slot) bool {
	return s.Memory[slot.Role].Succeeded.Has(slot.Index)
}

// IsDone reports whether the slot never runs again in this attempt: it has succeeded or was given up.
func (s *Snapshot) IsDone(slot Slot) bool {
	return s.HasSucceeded(slot) || s.Memory[slot.Role].GivenUp.Has(slot.Index)
}

// IsParked reports whether the slot of an elastic job is parked for lack of room.
func (s *Snapshot) IsParked(slot Slot) bool {
	m := s.Memory[slot.Role]
	return m != nil && m.Parked.Has(slot.Index)
}

// IsWanted reports whether the slot should have a pod.
func (s *Snapshot) IsWanted(slot Slot) bool { return !s.IsDone(slot) && !s.IsParked(slot) }

// HasVanished reports whether the slot's pod ran and is gone although nobody of us took it away.
func (s *Snapshot) HasVanished(slot Slot) bool {
	return s.Present(slot) == nil && !s.IsFinished() && s.Memory[slot.Role].Started.Has(slot.Index) && s.IsWanted(slot)
}

// IsFinished reports whether the job has its verdict, which is final.
func (s *Snapshot) IsFinished() bool {
	return meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionFinished)
}
