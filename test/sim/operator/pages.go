package operator

import (
	"bytes"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// pages are the progress pages as a process reads them: at each look, when a page has changed, and after the page's interval.
type pages struct {
	process *Process
	pod     types.UID
	last    []byte
	shown   cluster.Shown
	every   time.Duration
	next    time.Time
	// asked are the reads of the ranks' stacks; nil if the job does not hang.
	asked *asked
}

// asked are reads of stacks: what they show, when each ends, and until when the operator waits for them. taken is whether it has looked since
// the last one has ended.
type asked struct {
	ranks []answer
	until time.Time
	taken bool
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

// Stacks implements cluster.Pages.
func (p *pages) Stacks(_ client.ObjectKey, ranks []cluster.RankPage) state.Stacks {
	now := p.process.world.Clock.Now()
	if len(ranks) == 0 {
		p.asked = nil
		return state.Stacks{}
	}
	if p.asked == nil {
		p.asked = &asked{until: now.Add(2 * time.Second)}
		for _, rank := range ranks {
			body, after, err := p.process.world.Stacks(rank.Slot.String())
			p.asked.ranks = append(p.asked.ranks, answer{rank.Slot, cluster.StacksOf(rank.Slot, body, err), now.Add(after)})
		}
	}
	s := state.Stacks{Until: p.asked.until}
	if p.asked.areIn(now) {
		p.asked.taken, s.Until = true, time.Time{}
	}
	for _, r := range p.asked.ranks {
		if !now.After(r.ready) {
			r.list = cluster.StacksOf(r.slot, nil, progress.ErrSilent)
		}
		s.List = append(s.List, r.list...)
	}
	return s
}

// Watch implements cluster.Pages.
func (p *pages) Watch(_ client.ObjectKey, page cluster.Page) cluster.Shown {
	if p.pod != page.Pod {
		p.pod, p.shown = page.Pod, cluster.Shown{}
	}
	body, err := p.process.world.Page(page.Pod)
	p.shown, p.every = p.shown.After(p.process.world.Clock.Now(), body, err), page.Every
	p.read(body)
	return p.shown
}

func (p *pages) read(body []byte) {
	p.last, p.next = body, p.process.world.Clock.Now().Add(p.every)
}

// clear forgets that there is news: each read of the page wakes the process once, even if a reconcile ends before it looks at the page.
func (p *pages) clear() {
	if p.hasNews() {
		body, _ := p.process.world.Page(p.pod)
		p.read(body)
	}
}

// Forget implements cluster.Pages.
func (p *pages) Forget(client.ObjectKey) cluster.Shown {
	if p.pod == "" {
		return cluster.Shown{}
	}
	p.pod = ""
	return p.shown
}

// hasNews reports whether the page has changed since the last look, or is to be read again.
func (p *pages) hasNews() bool {
	if p == nil || p.pod == "" {
		return false
	}
	if a := p.asked; a != nil && !a.taken && a.areIn(p.process.world.Clock.Now()) {
		return true
	}
	body, _ := p.process.world.Page(p.pod)
	return !bytes.Equal(body, p.last) || !p.process.world.Clock.Now().Before(p.next)
}
