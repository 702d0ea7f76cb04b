package state

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Snapshot is all that one pass may know of a job: what was observed, what the status remembers, and one row for each of its
// replicas. Observe completes it with UnhealthyNodes. It is read-only from then on.
type Snapshot struct {
	Observed
	// Memory is what the status remembers of the replicas.
	Memory Memory
	// awaitedNodes are the nodes whose silence ends a wait of the job.
	awaitedNodes []string
	// missed are the lives that pods may have begun in place unseen (leaveLost). No other pod may have their numbers.
	missed map[Slot]Life

	replicas []Replica
	// first is the row of each role's replica 0.
	first map[v1alpha1.Role]int
}

// New returns the snapshot of what was observed, in order. It returns an error if the status cannot be decoded.
func New(o Observed) (*Snapshot, error) {
	memory, err := ReadMemory(o.Job)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Observed: o, Memory: memory, missed: map[Slot]Life{}}
	s.addFound()
	for i := range s.Pods {
		p := &s.Pods[i]
		ended, is := s.Ended[p.UID]
		if is && ended.Waits && ended.Life == p.Life && p.Exit != nil { // what became of the pod since is not how its process ended
			p.Disruption, p.Rejected = ended.Disruption, ended.Rejected
		}
		if p.Life = s.LifeOf(p); is && !p.Deleted.IsZero() && !s.IsPast(p) && s.isUnderWay() {
			ended.Life, ended.Version = p.Life, p.Version
			*p = ended // its end counts, although it was deleted then
		}
		p.applySideCarRules(o.Job.Spec.Recovery.Rules)
	}
	s.Nodes = slices.SortedFunc(slices.Values(s.Nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) }) // findLost changes its own
	s.addRows()
	s.addProgress()
	s.addAwaitedNodes()
	if s.addSilent() {
		s.addRows()
	}
	s.Gone = slices.DeleteFunc(slices.Clone(s.Gone), func(p Pod) bool { return !s.isMissed(&p) && !s.MayExplain(&p) })
	if p := s.LaterPod(); p == nil || p.Name != s.Foreign {
		s.Foreign = ""
	}
	return s, nil
}

// addRows makes a row of each replica, from the pods and the nodes.
func (s *Snapshot) addRows() {
	s.findLost()
	s.leaveLost()
	s.Pods = sortPods(s.Pods)
	s.keepScheduler()
	s.addReplicas()
}

// leaveLost takes back the restarts in place that lost nodes should have done, or pods that were evicted before their next process was seen: the end
// belongs to the life before. A process of the new life may still have begun there.
func (s *Snapshot) leaveLost() {
	for _, pods := range [][]Pod{s.Pods, s.Gone} {
		for i := range pods {
			p := &pods[i]
			if p.Restarting && p.Process == "" && s.remembersStart(p) { // its kubelet starts, and does not know the container yet
				p.Restarting = false
			}
			if s.neverBegan(p) {
				s.missed[p.Slot] = slices.MaxFunc([]Life{s.missed[p.Slot], p.Life}, Life.Compare)
				p.Life, p.Restarting, p.Left = p.Former, false, true
			}
		}
	}
}

// neverBegan reports whether the pod begins no life in place any more. The status remembers the starts of present lives alone.
func (s *Snapshot) neverBegan(p *Pod) bool {
	isEvicted := p.Told && p.Process == "" && p.Rejected.Reason != "" && !s.IsPast(p) && !s.remembersStart(p)
	return p.Restarting && (p.Fenced || s.IsLost(p)) || isEvicted
}

// sortPods returns the pods by slot and life. It moves each pod once, as they are large.
func sortPods(pods []Pod) []Pod {
	order := make([]*Pod, len(pods))
	for i := range pods {
		order[i] = &pods[i]
	}
	if slices.IsSortedFunc(order, bySlotAndLife) {
		return pods
	}
	slices.SortFunc(order, bySlotAndLife)
	sorted := make([]Pod, 0, len(pods))
	for _, p := range order {
		sorted = append(sorted, *p)
	}
	return sorted
}

func bySlotAndLife(a, b *Pod) int { return cmp.Or(a.Slot.Compare(b.Slot), a.Life.Compare(b.Life)) }

// addReplicas makes the rows: each with its pod, then with its State, and last with the pod that is gone.
func (s *Snapshot) addReplicas() {
	s.first = map[v1alpha1.Role]int{}
	s.replicas = make([]Replica, 0, Total(&s.Job.Spec))
	for _, role := range s.Job.Spec.Roles() {
		s.first[role] = len(s.replicas)
		for i := range int(s.Job.Spec.Replicas(role)) {
			slot := Slot{role, i}
			s.replicas = append(s.replicas, Replica{Slot: slot, Life: s.Life(slot)})
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		r := s.Replica(p.Slot)
		switch {
		case r == nil:
		case p.Life == r.Life:
			r.Pod = p
		case p.Life.Before(r.Life):
			r.FormerCanAct = r.FormerCanAct || s.MayAct(p)
		}
	}
	for i := range s.replicas {
		s.replicas[i].State = s.stateOf(&s.replicas[i])
	}
	for i := range s.Gone {
		s.addGone(&s.Gone[i])
	}
}

// addGone records for a replica without a pod what the last version of its pod shows: success, or a run that the status does not have
// yet.
func (s *Snapshot) addGone(p *Pod) {
	r := s.Replica(p.Slot)
	if r == nil || !s.isMissed(p) {
		return
	}
	r.Last = p
	switch {
	case p.HasSucceeded() && s.successCounts(p.Slot):
		r.State = Succeeded
	case p.HasStarted() && s.isUnderWay():
		r.State = Vanished
	}
}

// isMissed reports whether the pod that is gone is of a present life, whose replica has no other pod. It is missed too in a slot that the job no longer has.
func (s *Snapshot) isMissed(p *Pod) bool {
	r := s.Replica(p.Slot)
	return (r == nil || r.lacksPod() || r.Last != nil) && s.Life(p.Slot) == s.LifeOf(p)
}

// LacksPod reports whether that is the name of a pod of a present life that a replica should have, and has not.
func (s *Snapshot) LacksPod(name string) bool {
	slot, life, isName := ParsePodName(s.Job.Name, name)
	return isName && s.InRange(slot) && s.Life(slot) == life && s.Replica(slot).Pod == nil
}

// Replicas returns the job's replicas in the order of their ranks.
func (s *Snapshot) Replicas() iter.Seq[*Replica] {
	return func(yield func(*Replica) bool) {
		for i := range s.replicas {
			if !yield(&s.replicas[i]) {
				return
			}
		}
	}
}

// First returns the first replica that is so, in the order of their ranks; nil if there is none.
func (s *Snapshot) First(is func(*Replica) bool) *Replica {
	for r := range s.Replicas() {
		if is(r) {
			return r
		}
	}
	return nil
}

// Any reports whether a replica is so.
func (s *Snapshot) Any(is func(*Replica) bool) bool { return s.First(is) != nil }

// Replica returns the row of a slot; nil if the job no longer has it.
func (s *Snapshot) Replica(slot Slot) *Replica {
	if !s.InRange(slot) {
		return nil
	}
	return &s.replicas[s.first[slot.Role]+slot.Index]
}

// PodsOf returns the slot's pods of every life, the earliest first.
func (s *Snapshot) PodsOf(slot Slot) []Pod {
	bySlot := func(p Pod, slot Slot) int { return p.Slot.Compare(slot) }
	from, _ := slices.BinarySearchFunc(s.Pods, slot, bySlot)
	count, _ := slices.BinarySearchFunc(s.Pods[from:], Slot{slot.Role, slot.Index + 1}, bySlot)
	return s.Pods[from : from+count]
}

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

// IsPast reports whether the pod belongs to a life that is over, or to a slot that the job no longer has.
func (s *Snapshot) IsPast(p *Pod) bool {
	return p.Life.Before(s.Life(p.Slot)) || !s.InRange(p.Slot)
}

// AttemptMayBegin is the fence around an attempt: no pod of an earlier attempt, or of an earlier job of the same name, can still
// act, nor a process that a pod of this attempt has yet to leave behind.
func (s *Snapshot) AttemptMayBegin() bool {
	return len(s.Former) == 0 && !slices.ContainsFunc(s.Pods, func(p Pod) bool {
		return (p.Restarting || p.Life.Attempt < int(s.Job.Status.Attempt)) && s.MayAct(&p)
	})
}

// FirstCreated returns when the first pod of the present attempt was created; found is false if there was none. Pods that replace it do not move
// that.
func (s *Snapshot) FirstCreated() (first time.Time, found bool) {
	if recorded := s.Job.Status.Memory.FirstPodTime; recorded != nil {
		return recorded.Time, true
	}
	for r := range s.Replicas() {
		if r.Pod != nil && r.State != Succeeded { // else it may be from before a suspension
			first, found = Earliest(first, r.Pod.Created), true
		}
	}
	return first, found
}

// IsStale reports whether the job we read is older than one of its pods.
func (s *Snapshot) IsStale() bool { return s.LaterPod() != nil }

// LaterPod returns a pod that shows that the job we read is older than its pods: it is of a later life, or it exists although the job, as
// read, has never started or is suspended. It returns nil if there is none.
func (s *Snapshot) LaterPod() *Pod {
	started, rests, number := s.Job.Status.StartTime != nil, s.IsSuspended(), LifeNumber(&s.Job.Status)
	for i := range s.Pods {
		p := &s.Pods[i]
		if !started || s.Life(p.Slot).Before(p.Life) || rests && number < p.Number {
			return p
		}
	}
	return nil
}

// Is reports whether the condition of that type is True in the job's status.
func (s *Snapshot) Is(condition string) bool {
	return meta.IsStatusConditionTrue(s.Job.Status.Conditions, condition)
}

// IsSuspended reports whether the job is suspended, or still has pods from before its suspension.
func (s *Snapshot) IsSuspended() bool { return s.Is(v1alpha1.ConditionSuspended) }

// IsResting reports whether the job is suspended, or must be.
func (s *Snapshot) IsResting() bool { return s.Job.Spec.IsSuspended() || s.IsSuspended() }

// isUnderWay reports whether the job is neither finished nor suspended.
func (s *Snapshot) isUnderWay() bool { return !s.IsFinished() && !s.IsSuspended() }

// IsFinished reports whether the job has its verdict, which is final.
func (s *Snapshot) IsFinished() bool { return s.Is(v1alpha1.ConditionFinished) }
