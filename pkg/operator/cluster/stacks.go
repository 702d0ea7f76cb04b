package cluster

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
	"github.com/trainingjob/operator/pkg/operator/progress"
)

const (
	// maxStacks is of how many ranks of a job the stacks are read.
	maxStacks = 256
	// StackReads is how many stacks are read at once, of all jobs.
	StackReads = 256
	// stacksWithin is how long the reads of a job's ranks take in all. The restart of the job waits for them. A rank has at least the time
	// from slotWithin on to answer.
	stacksWithin, slotWithin = 2 * time.Second, time.Second
)

// RankPage is the page of a rank. The pod is part of it: another pod may get the address.
type RankPage struct {
	Slot    state.Slot
	Pod     types.UID
	Address netip.AddrPort
}

// hung is a job whose stacks are read: once, while it hangs.
type hung struct {
	// until is when the restart of the job no longer waits for the reads; zero once they have ended.
	until time.Time
	// found is where the processes of each rank are, as far as it is known: a rank whose read goes on does not answer.
	found [][]state.Stack
}

// Stacks implements Pages.
func (p *pages) Stacks(job client.ObjectKey, ranks []RankPage) state.Stacks {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(ranks) == 0 {
		delete(p.hung, job)
		return state.Stacks{}
	}
	h := p.hung[job]
	if h == nil {
		h = &hung{until: p.clock.Now().Add(stacksWithin), found: make([][]state.Stack, len(ranks))}
		p.hung[job] = h
		go p.readStacks(job, h, ranks)
	}
	return state.Stacks{Until: h.until, List: slices.Concat(h.found...)}
}

// readStacks reads the stacks of all ranks at once, and then wakes the job.
func (p *pages) readStacks(job client.ObjectKey, h *hung, ranks []RankPage) {
	ctx, cancel := context.WithTimeout(context.Background(), stacksWithin)
	defer cancel()
	var reads sync.WaitGroup
	for i := range ranks {
		note := func(list []state.Stack) {
			p.mu.Lock()
			defer p.mu.Unlock()
			h.found[i] = list
		}
		reads.Go(func() { p.stacksOf(ctx, job.Namespace, &ranks[i], note) })
	}
	reads.Wait()
	p.mu.Lock()
	h.until = time.Time{}
	p.mu.Unlock()
	p.changed(job)
}

// stacksOf notes where the processes of a rank are. A rank for which no read is free in time shows no stack.
func (p *pages) stacksOf(ctx context.Context, namespace string, rank *RankPage, note func([]state.Stack)) {
	note(stacks.Of(rank.Slot, nil))
	soon, cancel := context.WithTimeout(ctx, slotWithin)
	defer cancel()
	release, err := p.stackSlots.acquire(soon, namespace)
	if err != nil {
		return
	}
	defer release()
	note(StacksOf(rank.Slot, nil, progress.ErrSilent))
	body, err := p.read(ctx, rank.Address, progress.Stacks)
	p.parsing.Lock() // a page of 64 KiB can hold far larger values
	defer p.parsing.Unlock()
	note(StacksOf(rank.Slot, body, err))
}

// StacksOf returns where the processes of a rank are, after a read of its page.
func StacksOf(slot state.Slot, body []byte, err error) []state.Stack {
	if progress.IsSilence(err) {
		return []state.Stack{{Slot: slot, IsSilent: true}}
	}
	if err != nil {
		return stacks.Of(slot, nil)
	}
	processes, err := stacks.Parse(body)
	if err != nil { // another program serves the port
		return stacks.Of(slot, nil)
	}
	return stacks.Of(slot, processes)
}

// addStacks adds where the ranks are, if the job is to restart because it hangs.
func (c *Cluster) addStacks(s *state.Snapshot) {
	var ranks []RankPage
	unasked := 0
	if s.Hangs() {
		ranks, unasked = c.rankPages(s)
	}
	s.Stacks = c.options.Pages.Stacks(client.ObjectKeyFromObject(s.Job), ranks)
	s.Stacks.Unasked = unasked
}

// rankPages returns the pages of the running ranks, and how many running ranks there are besides. Evaluators wait for no rank.
func (c *Cluster) rankPages(s *state.Snapshot) (ranks []RankPage, more int) {
	for r := range s.Replicas() {
		if !state.IsNeeded(r.Slot.Role) || r.State != state.Running || r.Pod.Page.Port == 0 {
			continue
		}
		address, err := c.options.PageAt(r.Pod)
		switch {
		case err != nil:
		case len(ranks) == maxStacks:
			more++
		default:
			ranks = append(ranks, RankPage{Slot: r.Slot, Pod: r.Pod.UID, Address: address})
		}
	}
	return ranks, more
}
