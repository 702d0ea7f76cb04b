package operator

import (
	"bytes"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/cluster"
)

// pages are the progress pages as a process reads them: at each look, and when a page has changed.
type pages struct {
	process *Process
	pod     types.UID
	last    []byte
	shown   cluster.Shown
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
	body, _ := p.process.world.Page(p.pod)
	return !bytes.Equal(body, p.last)
}
