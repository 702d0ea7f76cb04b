package cluster

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

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// PageReads is how many pages are read at once.
const PageReads = 64

// Pages are the progress pages of jobs. While a job has a page, it is read again and again, one read at a time, beside the reconciles.
type Pages interface {
	// Watch has the page of the job read from now on, and returns what its last reads showed.
	Watch(job client.ObjectKey, p Page) Shown
	// Stacks has the stacks of a hanging job's ranks read once, and returns them, or until when the reads last at most. Without ranks it
	// forgets the stacks: the job hangs no more.
	Stacks(job client.ObjectKey, ranks []RankPage) state.Stacks
	// Forget ends the reads of the job's page, and returns what they showed last; nothing if there were none.
	Forget(job client.ObjectKey) Shown
}

// Page is where a page is, and how often it is read. The pod is part of it: another pod may get the address.
type Page struct {
	Pod     types.UID
	Address netip.AddrPort
	Every   time.Duration
}

// Shown is what the reads of a page have shown.
type Shown struct {
	progress.Said
	// Read is when the last read began that the process answered, or failed to answer; zero if there was none.
	Read time.Time
	// Silent is how many of the last reads in a row the process did not answer.
	Silent int
	// Err is why the last read did not show a report; nil if it did, or if the process did not answer.
	Err error

	lag progress.Lag
}

// pages reads pages over the network.
type pages struct {
	read    func(context.Context, netip.AddrPort, progress.Target) ([]byte, error)
	clock   clock.WithDelayedExecution
	changed func(client.ObjectKey)
	// slots are for the reads of reports, stackSlots for the reads of stacks.
	slots, stackSlots *slots
	// parsing has one page of stacks parsed at a time.
	parsing sync.Mutex

	mu   sync.Mutex
	jobs map[client.ObjectKey]*watched
	hung map[client.ObjectKey]*hung
}

// watched is the page of a job.
type watched struct {
	page  Page
	shown Shown
	next  clock.Timer
	// ended is whether the job has another page now, or none: a read that is under way must not count.
	ended bool
}

// NewPages returns Pages that call changed after each read. The reads of a namespace hold at most its share of all reads.
func NewPages(r *progress.Reader, clock clock.WithDelayedExecution, changed func(client.ObjectKey)) Pages {
	return newPages(r.Read, clock, changed)
}

func newPages(read func(context.Context, netip.AddrPort, progress.Target) ([]byte, error), clock clock.WithDelayedExecution, changed func(client.ObjectKey)) *pages {
	return &pages{
		read: read, clock: clock, changed: changed, slots: newSlots(PageReads), stackSlots: newSlots(StackReads),
		jobs: map[client.ObjectKey]*watched{}, hung: map[client.ObjectKey]*hung{},
	}
}

// Watch implements Pages. A page that was watched before with another interval keeps what it has shown, and is read at once.
func (p *pages) Watch(job client.ObjectKey, page Page) Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.jobs[job]
	if w != nil && w.page == page {
		return w.shown
	}
	var shown Shown
	if w != nil && w.page.Pod == page.Pod && w.page.Address == page.Address {
		shown = w.shown
	}
	p.end(job)
	w = &watched{page: page, shown: shown}
	p.jobs[job] = w
	p.readAfter(job, w, 0)
	return shown
}

// Forget implements Pages.
func (p *pages) Forget(job client.ObjectKey) Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end(job)
}

func (p *pages) end(job client.ObjectKey) Shown {
	w := p.jobs[job]
	if w == nil {
		return Shown{}
	}
	w.ended = true
	w.next.Stop()
	delete(p.jobs, job)
	return w.shown
}

// readAfter reads the page after that time. The caller holds the lock.
func (p *pages) readAfter(job client.ObjectKey, w *watched, d time.Duration) {
	w.next = p.clock.AfterFunc(d, func() { p.readNow(job, w) })
}

// readNow reads the page once, and again after its interval. Intervals vary a little, so that jobs that began together do not stay so.
func (p *pages) readNow(job client.ObjectKey, w *watched) {
	release, err := p.slots.acquire(context.Background(), job.Namespace)
	if err != nil { // only an ended context is an error
		return
	}
	defer release()
	began := p.clock.Now()
	body, err := p.read(context.Background(), w.page.Address, progress.Report)
	if p.keep(job, w, began, body, err) {
		p.changed(job)
	}
}

// keep records what a read has shown, and has the page read again. It reports whether the page is still the job's.
func (p *pages) keep(job client.ObjectKey, w *watched, began time.Time, body []byte, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.ended {
		return false
	}
	w.shown = w.shown.After(began, body, err)
	p.readAfter(job, w, wait.Jitter(w.page.Every, 0.1))
	return true
}

// fullQueue is how many reads a process must have left unanswered in a row until its queue of connections may be full: Python's http.server has the
// shortest usual one. From then on the kernel lets no further read connect. Before that a read without a connection shows a broken network.
const fullQueue = 6

// After returns what is shown after one more read. A process that does not answer has made no newer report known.
func (s Shown) After(began time.Time, body []byte, err error) Shown {
	next := s.after(began, body, err)
	if !next.Renewed.IsZero() {
		next.lag = s.lag.After(began, next.Renewed)
	}
	return next
}

func (s Shown) after(began time.Time, body []byte, err error) Shown {
	if errors.Is(err, progress.ErrSilent) || s.Silent >= fullQueue && errors.Is(err, progress.ErrUnreached) {
		return Shown{Said: s.Said, Read: began, Silent: s.Silent + 1}
	}
	var said progress.Said
	if err == nil {
		said, err = progress.Parse(body)
	}
	if said.Renewed = began; said.Report == s.Report && said.Attempt == s.Attempt && said.Life == s.Life {
		said.Renewed = s.Renewed
	}
	if err != nil {
		return Shown{Said: s.Said, Read: s.Read, Err: err}
	}
	return Shown{Said: said, Read: began}
}

// addPage adds what the page of rank 0 has shown, while rank 0 runs, and the last report after its end.
func (c *Cluster) addPage(s *state.Snapshot) {
	job, r := client.ObjectKeyFromObject(s.Job), s.Reporter()
	if !state.ReportsByPage(&s.Job.Spec) || r == nil || r.State != state.Running || r.Pod.Page.Port == 0 {
		c.addLast(s, r, c.options.Pages.Forget(job).Said)
		return
	}
	began := c.beganAt(s.Job, r.Pod)
	s.Progress.Began = began
	address, err := c.options.PageAt(r.Pod)
	if err != nil {
		c.options.Pages.Forget(job)
		s.Progress.Unread = err.Error()
		return
	}
	shown := c.options.Pages.Watch(job, Page{Pod: r.Pod.UID, Address: address, Every: s.ReadEvery()})
	if s.IsCurrent(shown.Attempt, shown.Life) {
		s.Progress = shown.Progress
		s.Progress.Began, s.Progress.IsLate = began, shown.lag.IsLate()
		s.Progress.Renewed = s.FirstSeen(shown.Report, shown.Renewed)
	}
	c.memo(s.Job, func(m *jobMemo) { m.last = lastReport{r.Life, shown.Said} })
	s.Progress.Read, s.Progress.IsSilent = shown.Read, shown.Silent > 0
	if shown.Err != nil {
		s.Progress.Unread = state.Printable(state.Cut(shown.Err.Error(), state.MaxWords))
	}
}

// lastReport is the last report of rank 0, and the life in which it was read.
type lastReport struct {
	life state.Life
	progress.Said
}

// addLast adds the last report of a life of rank 0 that is over. Its last read, which the operator may not have looked at yet, returned it.
func (c *Cluster) addLast(s *state.Snapshot, r *state.Replica, said progress.Said) {
	last := c.memo(s.Job, func(m *jobMemo) {
		if !said.Renewed.IsZero() {
			m.last.Said = said
		}
	}).last
	if r != nil && r.Life == last.life && (r.IsBroken() || r.State == state.Succeeded) && s.IsCurrent(last.Attempt, last.Life) {
		s.Progress = last.Progress
		s.Progress.Renewed = s.FirstSeen(last.Report, last.Renewed)
	}
}

// process is the latest process of rank 0 that this process of the operator has seen: its pod, its beginning by the clock of its node, and when it
// was first seen. since is zero for the first one: it may have run for long.
type process struct {
	pod          types.UID
	began, since time.Time
}

// beganAt returns when the operator saw the process of the pod begin; zero if it ran when the operator first looked.
func (c *Cluster) beganAt(job *v1alpha1.TrainingJob, p *state.Pod) time.Time {
	return c.memo(job, func(m *jobMemo) {
		was := m.process
		if was.pod == p.UID && was.began.Equal(p.Began) {
			return
		}
		if m.process = (process{pod: p.UID, began: p.Began}); was.pod != "" {
			m.process.since = c.clock.Now()
		}
	}).process.since
}

// noPages are the Pages of a Cluster without any: no job has a report.
type noPages struct{}

// Watch implements Pages.
func (noPages) Watch(client.ObjectKey, Page) Shown { return Shown{} }

// Stacks implements Pages.
func (noPages) Stacks(client.ObjectKey, []RankPage) state.Stacks { return state.Stacks{} }

// Forget implements Pages.
func (noPages) Forget(client.ObjectKey) Shown { return Shown{} }
