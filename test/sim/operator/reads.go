package operator

import (
	"bytes"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/pkg/operator/reads"
)

// wanted are the reads of a process: of a page at each look, when it has changed, and after its interval; of stacks once. Leases are read by the
// product's own code.
type wanted struct {
	process *Process
	page    reads.Reading
	isRead  bool // whether the page is read
	last    []byte
	next    time.Time
	// asked are the reads of the ranks' stacks; nil if the job does not hang.
	asked   *asked
	silence *reads.Silence
	seen    state.Seen
}

// asked are reads of stacks: what they show, when each ends, and until when the operator waits for them. taken is whether it has looked since
// the last one has ended.
type asked struct {
	ranks   []answer
	unasked int
	until   time.Time
	taken   bool
}

type answer struct {
	slot  state.Slot
	list  []state.Stack
	ready time.Time
}

// areIn reports whether all reads have ended. At the moment at which one ends its answer is not there yet.
func (a *asked) areIn(now time.Time) bool {
	return !slices.ContainsFunc(a.ranks, func(r answer) bool { return !now.After(r.ready) })
}

func (p *Process) newReads() *wanted {
	settings := &reads.Settings{Clock: p.timers, Patience: LostAfter, Log: logr.Discard(), Changed: func(client.ObjectKey) { p.queue.Now() }}
	if p.world.Renewals != nil {
		settings.Leases = p.readLeases
	}
	return &wanted{process: p, silence: reads.NewSilence(settings)}
}

// Want implements reads.Reader.
func (w *wanted) Want(job client.ObjectKey, now reads.Wanted) {
	if page := now.Page; page == nil {
		w.isRead = false
	} else if !w.isRead || w.page.Page != *page {
		w.isRead, w.last, w.next = true, nil, time.Time{}
		w.page = w.page.To(page, w.now())
	}
	w.askStacks(&now)
	w.silence.Want(job, now.AwaitedNodes)
}

func (w *wanted) askStacks(now *reads.Wanted) {
	if len(now.Ranks) == 0 {
		w.asked = nil
		return
	}
	if w.asked != nil {
		return
	}
	w.asked = &asked{until: w.now().Add(state.StacksWithin), unasked: now.Unasked}
	for _, rank := range now.Ranks {
		body, after, err := w.process.world.Stacks(rank.Slot.String())
		w.asked.ranks = append(w.asked.ranks, answer{rank.Slot, reads.StacksOf(rank.Slot, body, err), w.now().Add(after)})
	}
}

// Seen implements reads.Reader.
func (w *wanted) Seen(job client.ObjectKey) state.Seen {
	if w.isRead && w.page.Page.Unread == "" {
		body, err := w.process.world.Page(w.page.Pod)
		w.page = w.page.After(w.now(), body, err)
		w.read(body)
	}
	w.seen = w.process.world.Faults.Seen(state.Seen{Page: w.page.Seen(), Stacks: w.stacks(), Silent: w.silence.Seen(job)}, w.seen)
	return w.seen
}

func (w *wanted) stacks() state.Stacks {
	if w.asked == nil {
		return state.Stacks{}
	}
	s := state.Stacks{Until: w.asked.until, Unasked: w.asked.unasked}
	if w.asked.areIn(w.now()) {
		w.asked.taken, s.Until = true, w.now()
	}
	for _, r := range w.asked.ranks {
		if !w.now().After(r.ready) {
			r.list = reads.StacksOf(r.slot, nil, progress.ErrSilent)
		}
		s.List = append(s.List, r.list...)
	}
	return s
}

// Forget implements reads.Reader.
func (w *wanted) Forget(job client.ObjectKey) {
	w.Want(job, reads.Wanted{})
	w.page = reads.Reading{}
}

func (w *wanted) now() time.Time { return w.process.world.Clock.Now() }

func (w *wanted) read(body []byte) { w.last, w.next = body, w.now().Add(w.page.Every) }

// clear forgets that there is news: each read of the page wakes the process once, even if a reconcile ends before it looks at the page.
func (w *wanted) clear() {
	if w.hasNews() {
		body, _ := w.process.world.Page(w.page.Pod)
		w.read(body)
	}
}

// hasNews reports whether the page has changed since the last look, or is to be read again.
func (w *wanted) hasNews() bool {
	if w == nil {
		return false
	}
	if a := w.asked; a != nil && !a.taken && a.areIn(w.now()) {
		return true
	}
	if !w.isRead {
		return false
	}
	body, _ := w.process.world.Page(w.page.Pod)
	return !bytes.Equal(body, w.last) || !w.now().Before(w.next)
}
