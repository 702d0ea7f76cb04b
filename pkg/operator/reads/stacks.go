package reads

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/stacks"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

const (
	// MaxStacks is of how many ranks of a job the stacks are read.
	MaxStacks = 256
	// StackReads is how many stacks are read at once, of all jobs.
	StackReads = 256
	// slotWithin is how long a rank waits for a free read. It then has the rest of state.StacksWithin to answer.
	slotWithin = time.Second
)

// RankPage is the page of a rank. The pod is part of it: another pod may get the address.
type RankPage struct {
	Slot    state.Slot
	Pod     types.UID
	Address netip.AddrPort
}

// stackReads reads where the ranks of jobs that hang are.
type stackReads struct {
	*Settings
	slots *fair.Slots
	// parsing has one page of stacks parsed at a time.
	parsing sync.Mutex

	mu   sync.Mutex
	hung map[client.ObjectKey]*hung
}

// hung is a job whose stacks are read: once, while it hangs.
type hung struct {
	// until is when the restart of the job no longer waits for the reads.
	until time.Time
	// found is where the processes of each rank are, as far as it is known: a rank whose read goes on does not answer.
	found   [][]state.Stack
	unasked int
}

func newStacks(s *Settings) *stackReads {
	return &stackReads{Settings: s, slots: fair.NewSlots(StackReads), hung: map[client.ObjectKey]*hung{}}
}

// want has the stacks of the ranks read, once. Without ranks the job hangs no more, and its stacks are forgotten.
func (r *stackReads) want(job client.ObjectKey, ranks []RankPage, unasked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(ranks) == 0 {
		delete(r.hung, job)
	} else if r.hung[job] == nil {
		h := &hung{until: r.Clock.Now().Add(state.StacksWithin), found: make([][]state.Stack, len(ranks)), unasked: unasked}
		r.hung[job] = h
		go r.readAll(job, h, ranks)
	}
}

// seen returns where the ranks are, or until when the reads last at most.
func (r *stackReads) seen(job client.ObjectKey) state.Stacks {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hung[job]
	if h == nil {
		return state.Stacks{}
	}
	return state.Stacks{Until: h.until, List: slices.Concat(h.found...), Unasked: h.unasked}
}

// readAll reads the stacks of all ranks at once, and then wakes the job.
func (r *stackReads) readAll(job client.ObjectKey, h *hung, ranks []RankPage) {
	ctx, cancel := context.WithTimeout(context.Background(), state.StacksWithin)
	defer cancel()
	var reads sync.WaitGroup
	for i := range ranks {
		note := func(list []state.Stack) {
			r.mu.Lock()
			defer r.mu.Unlock()
			h.found[i] = list
		}
		reads.Go(func() { r.readOne(ctx, job.Namespace, &ranks[i], note) })
	}
	reads.Wait()
	r.mu.Lock()
	h.until = r.Clock.Now()
	r.mu.Unlock()
	r.Changed(job)
}

// readOne notes where the processes of a rank are. A rank for which no read is free in time shows no stack.
func (r *stackReads) readOne(ctx context.Context, namespace string, rank *RankPage, note func([]state.Stack)) {
	note(stacks.Of(rank.Slot, nil))
	soon, cancel := context.WithTimeout(ctx, slotWithin)
	defer cancel()
	release, err := r.slots.Acquire(soon, namespace)
	if err != nil {
		return
	}
	defer release()
	note(StacksOf(rank.Slot, nil, progress.ErrSilent))
	body, err := r.Page(ctx, rank.Address, progress.Stacks)
	r.parsing.Lock() // a page of 64 KiB can hold far larger values
	defer r.parsing.Unlock()
	note(StacksOf(rank.Slot, body, err))
}

// StacksOf returns where the processes of a rank are, after a read of its page.
func StacksOf(slot state.Slot, body []byte, err error) []state.Stack {
	if progress.IsSilence(err) {
		return []state.Stack{{Slot: slot, IsSilent: true}}
	}
	var processes []stacks.Process
	if err == nil {
		processes, _ = stacks.Parse(body) // none if another program serves the port
	}
	return stacks.Of(slot, processes)
}
