package operator

import (
	"bytes"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/state"
)

// pages are the progress pages as a process reads them: at each look, and when a page has changed.
type pages struct {
	process *Process
	pod     types.UID
	last    []byte
	shown   cluster.Shown
	// asked are the reads of the ranks' stacks; nil if the job does not hang.
	asked *asked
}

// asked are reads of stacks: what they show from ready on, and until when the operator waits for them. taken is whether it has looked since.
type asked struct {
	list         []state.Stack
	ready, until time.Time
	taken        bool
}

// Stacks implements cluster.Pages.
func (p *pages) Stacks(_ client.ObjectKey, ranks []cluster.RankPage) state.Stacks {
	now := p.process.world.Clock.Now()
	switch {
	case len(ranks) == 0:
		p.asked = nil
		return state.Stacks{}
	case p.asked == nil:
		p.asked = &asked{ready: now, until: now.Add(2 * time.Second)}
		for _, rank := range ranks {
			body, after, err := p.process.world.Stacks(rank.Slot.String())
			p.asked.ready = now.Add(after)
			p.asked.list = append(p.asked.list, cluster.StacksOf(rank.Slot, body, err)...)
		}
		return state.Stacks{Until: p.asked.until}
	case now.Before(p.asked.ready):
		return state.Stacks{Until: p.asked.until}
	default:
		p.asked.taken = true
		return state.Stacks{List: p.asked.list}
	}
}

// Watch implements cluster.Pages.
func (p *pages) Watch(_ client.ObjectKey, page cluster.Page) cluster.Shown {
	if p.pod != page.Pod {
		p.pod, p.shown = page.Pod, cluster.Shown{}
	}
	body, err := p.process.world.Page(page.Pod)
	p.last, p.shown = body, p.shown.After(p.process.world.Clock.Now(), body, err)
	return p.shown
}

// Forget implements cluster.Pages.
func (p *pages) Forget(client.ObjectKey) { p.pod = "" }

// hasNews reports whether the page has changed since the last look.
func (p *pages) hasNews() bool {
	if p == nil || p.pod == "" {
		return false
	}
	if a := p.asked; a != nil && !a.taken && !p.process.world.Clock.Now().Before(a.ready) {
		return true
	}
	body, _ := p.process.world.Page(p.pod)
	return !bytes.Equal(body, p.last)
}
