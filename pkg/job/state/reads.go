package state

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Reads are what a plan has read beside the caches, for the next snapshot. They are a hint, like the time to wake: a lost read costs time,
// never a decision.
type Reads struct {
	// Page is the pod of rank 0 whose progress page is read again and again, after each Every; nil for none.
	Page  *Pod
	Every time.Duration
	// Stacks are the running ranks of a job that hangs, whose stacks are read once.
	Stacks []*Pod
	// AwaitedNodes are the nodes, sorted, whose silence would end a wait of the job: their Leases are read.
	AwaitedNodes []string
	// Confirm are the replicas whose pods are gone as far as the caches show. Nothing is decided before the API server has confirmed it.
	Confirm []*Replica
	// Foreign is a pod of a life that the job, as read, never had. It is foreign if the API server has no newer version of the job.
	Foreign *Pod
}

// Seen is what the reads have shown.
type Seen struct {
	Page   PageSeen
	Stacks Stacks
	// Silent are the silent nodes among AwaitedNodes, each with since when.
	Silent map[string]time.Time
}

// PageSeen is what the reads of a progress page have shown last.
type PageSeen struct {
	// Job, Pod and Life are of the rank 0 whose page it is. Process is when its process began, by the clock of its node.
	Job, Pod types.UID
	Life     Life
	Process  time.Time
	Progress
}

// Reads returns what the next snapshot needs.
func (s *Snapshot) Reads() Reads {
	reads := Reads{AwaitedNodes: s.awaitedNodes, Confirm: s.unconfirmed()}
	if p := s.LaterPod(); p != nil && p.Name != s.Foreign {
		reads.Foreign = p
	}
	if r := s.Reporter(); ReportsByPage(&s.Job.Spec) && r != nil && r.servesPage() {
		reads.Page, reads.Every = r.Pod, s.readEvery()
	}
	if s.Hangs() {
		for r := range s.Replicas() {
			if IsNeeded(r.Slot.Role) && r.servesPage() {
				reads.Stacks = append(reads.Stacks, r.Pod)
			}
		}
	}
	return reads
}

func (r *Replica) servesPage() bool { return r.State == Running && r.Pod.Page.Port != 0 }

// unconfirmed returns the replicas without a pod that the API server may yet have: those whose pods ran, or were seen to go.
func (s *Snapshot) unconfirmed() []*Replica {
	var doubtful []*Replica
	for r := range s.Replicas() {
		if (r.State == Vanished || r.lacksPod() && r.Last != nil && s.isUnderWay()) && !s.Absent[PodName(s.Job.Name, r.Slot, r.Life)] {
			doubtful = append(doubtful, r)
		}
	}
	return doubtful
}

// addFound adds the pods of present lives that the API server has and the cache lacks.
func (s *Snapshot) addFound() {
	for i := range s.Found {
		p := &s.Found[i]
		isShown := slices.ContainsFunc(s.Pods, func(shown Pod) bool { return shown.UID == p.UID })
		if !isShown && s.Life(p.Slot) == s.LifeOf(p) {
			s.Pods = append(slices.Clip(s.Pods), *p)
		}
	}
}

// addProgress adds the report that counts: of rank 0 while it runs, and its last one after its end. A process that runs in place of the one that was
// read begins now, as far as the operator sees.
func (s *Snapshot) addProgress() {
	r, page := s.Reporter(), &s.Seen.Page
	if r == nil || page.Job != s.Job.UID || !ReportsByPage(&s.Job.Spec) {
		return
	}
	serves := r.servesPage()
	if hasEnded := r.IsBroken() || r.State == Succeeded; page.Life == r.Life && (hasEnded || serves && page.Pod == r.Pod.UID) {
		s.Progress = page.of(s)
		s.Progress.IsLate = s.Progress.IsLate && serves
	}
	if serves && (page.Pod != r.Pod.UID || !page.Process.Equal(r.Pod.Began)) {
		s.Progress.Began = s.Now
	}
}

// of returns what the page shows of the job; without the report, if that is about another attempt or an older life.
func (p *PageSeen) of(s *Snapshot) Progress {
	if !s.IsCurrent(p.Attempt, p.Number) {
		return Progress{Began: p.Began, Read: p.Read, IsSilent: p.IsSilent, Unread: p.Unread}
	}
	shown := p.Progress
	shown.Renewed = s.FirstSeen(p.ID, p.Renewed)
	return shown
}
