package reads

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// PageReads is how many pages are read at once.
const PageReads = 64

// Page is whose page it is, where it is, and how often it is read. The pod is part of it: another pod may get the address.
type Page struct {
	Job, Pod types.UID
	Life     state.Life
	// Process is when the process of the pod began, by the clock of its node.
	Process time.Time
	Address netip.AddrPort
	// Unread is why the page is not read at all; empty if it is.
	Unread string
	Every  time.Duration
}

// pages reads pages over the network: each again and again, one read at a time.
type pages struct {
	*Settings
	slots *fair.Slots

	mu   sync.Mutex
	jobs map[client.ObjectKey]*watched
}

// Reading is a page, and what its reads have shown.
type Reading struct {
	Page
	// Progress has all but IsSilent, IsLate and Unread, which Seen adds.
	state.Progress
	// Silent is how many of the last reads in a row the process did not answer.
	Silent int
	// Err is why the last read did not show a report; nil if it did, or if the process did not answer.
	Err error

	lag progress.Lag
}

// To returns the reads of the page that is wanted now. The same page in another interval keeps what it has shown.
func (r Reading) To(page *Page, now time.Time) Reading {
	next := Reading{Page: *page, Progress: state.Progress{Began: r.Began}}
	if r.Pod == page.Pod && r.Life == page.Life && r.Address == page.Address {
		next = r
		next.Page = *page
	}
	if r.Pod != "" && (r.Pod != page.Pod || !r.Process.Equal(page.Process)) {
		next.Began = now
	}
	if page.Unread != "" {
		next.Err = errors.New(page.Unread)
	}
	return next
}

// Seen returns what the page has shown last.
func (r *Reading) Seen() state.PageSeen {
	shown := state.PageSeen{Job: r.Job, Pod: r.Pod, Life: r.Life, Process: r.Process, Progress: r.Progress}
	shown.IsSilent, shown.IsLate = r.Silent > 0, r.lag.IsLate()
	if r.Err != nil {
		shown.Unread = state.Printable(state.Cut(r.Err.Error(), state.MaxWords))
	}
	return shown
}

// watched is the page of a job.
type watched struct {
	Reading
	next clock.Timer
	// ended is whether the page is no longer read: a read that is under way must not count.
	ended bool
}

func newPages(s *Settings) *pages {
	return &pages{Settings: s, slots: fair.NewSlots(PageReads), jobs: map[client.ObjectKey]*watched{}}
}

// want has the page read from now on; nil ends the reads.
func (p *pages) want(job client.ObjectKey, page *Page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.jobs[job]
	if w != nil && !w.ended {
		if page != nil && w.Page == *page {
			return
		}
		w.ended = true
		w.next.Stop()
	}
	if page == nil {
		return
	}
	var was Reading
	if w != nil {
		was = w.Reading
	}
	w = &watched{Reading: was.To(page, p.Clock.Now())}
	p.jobs[job] = w
	if page.Unread == "" {
		p.readAfter(job, w, 0)
	} else {
		w.next = p.Clock.AfterFunc(0, func() { p.Changed(job) })
	}
}

// seen returns what the page of the job has shown last.
func (p *pages) seen(job client.ObjectKey) state.PageSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.jobs[job]; w != nil {
		return w.Seen()
	}
	return state.PageSeen{}
}

func (p *pages) forget(job client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, job)
}

// readAfter reads the page after that time. The caller holds the lock.
func (p *pages) readAfter(job client.ObjectKey, w *watched, d time.Duration) {
	w.next = p.Clock.AfterFunc(d, func() { p.readNow(job, w) })
}

// readNow reads the page once, and again after its interval. Intervals vary a little, so that jobs that began together do not stay so.
func (p *pages) readNow(job client.ObjectKey, w *watched) {
	release, err := p.slots.Acquire(context.Background(), job.Namespace)
	if err != nil { // only an ended context is an error
		return
	}
	defer release()
	began := p.Clock.Now()
	body, err := p.Page(context.Background(), w.Address, progress.Report)
	if p.keep(job, w, began, body, err) {
		p.Changed(job)
	}
}

// keep records what a read has shown, and has the page read again. It reports whether the page is still the job's.
func (p *pages) keep(job client.ObjectKey, w *watched, began time.Time, body []byte, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.ended {
		return false
	}
	w.Reading = w.After(began, body, err)
	p.readAfter(job, w, wait.Jitter(w.Every, 0.1))
	return true
}

// fullQueue is how many reads a process must have left unanswered in a row until its queue of connections may be full: Python's http.server has the
// shortest usual one. From then on the kernel lets no further read connect. Before that a read without a connection shows a broken network.
const fullQueue = 6

// After returns what is shown after one more read. A process that does not answer has made no newer report known.
func (r Reading) After(began time.Time, body []byte, err error) Reading {
	if errors.Is(err, progress.ErrSilent) || r.Silent >= fullQueue && errors.Is(err, progress.ErrUnreached) {
		r.Read, r.Silent, r.Err = began, r.Silent+1, nil
	} else {
		var report state.Report
		if err == nil {
			report, err = progress.Parse(body)
		}
		if r.Silent, r.Err = 0, err; err == nil {
			if report.ID != r.ID || report.Attempt != r.Attempt || report.Number != r.Number {
				r.Renewed = began
			}
			r.Report, r.Read = report, began
		}
	}
	if !r.Renewed.IsZero() {
		r.lag = r.lag.After(began, r.Renewed)
	}
	return r
}
