package reads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/test/sim/builder"
)

// site serves pages: by address what a read of it returns, after which time.
type site struct {
	mu    sync.Mutex
	reads map[netip.AddrPort]int
	woken map[client.ObjectKey]int
	fails error
	serve func(netip.AddrPort) (body string, after time.Duration, err error)
}

// counts returns how often the page was read, and aJob woken.
func (s *site) counts(page Page) (reads, woken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[page.Address], s.woken[aJob]
}

// fail has all reads fail from now on.
func (s *site) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *site) read(_ context.Context, page netip.AddrPort, _ progress.Target) ([]byte, error) {
	s.mu.Lock()
	s.reads[page]++
	body, after, err := s.serve(page)
	if s.fails != nil {
		err = s.fails
	}
	s.mu.Unlock()
	time.Sleep(after)
	return []byte(body), err
}

func (s *site) settings() *Settings {
	s.reads, s.woken = map[netip.AddrPort]int{}, map[client.ObjectKey]int{}
	changed := func(job client.ObjectKey) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.woken[job]++
	}
	return &Settings{Page: s.read, Clock: clock.RealClock{}, Changed: changed}
}

func (s *site) pages() *pages { return newPages(s.settings()) }

// watch has the page read, and returns what it has shown.
func (p *pages) watch(job client.ObjectKey, page Page) Reading {
	p.want(job, &page)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[job].Reading
}

var aJob = client.ObjectKey{Namespace: "team-a", Name: "j"}

// pageOf returns a page on that pod, whose number is its address too.
func pageOf(pod int) Page {
	return Page{Pod: types.UID(fmt.Sprint(pod)), Address: netip.MustParseAddrPort(fmt.Sprintf("10.0.%d.%d:9500", pod/250, pod%250+1)), Every: 10 * time.Second}
}

// pass lets time pass, and the reads of that time end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func step(n int) string { return fmt.Sprintf(`{"time":"2026-01-05T12:00:%02dZ","step":%d}`, n, n) }

func TestAPageIsReadOnceAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) { n++; return step(n), 0, nil }}
		p, page := s.pages(), pageOf(1)
		began := time.Now()
		if shown := p.watch(aJob, page); shown.Step != 0 || !shown.Read.IsZero() {
			t.Errorf("before the first read it shows %+v", shown)
		}
		pass(2 * time.Second)
		_, woken := s.counts(page)
		if shown := p.watch(aJob, page); shown.Step != 1 || !shown.Read.Equal(began) || woken != 1 {
			t.Errorf("after the first read it shows %+v, and the job was woken %d times", shown, woken)
		}
		pass(100 * time.Second) // an interval is 10 to 11 s
		if reads, woken := s.counts(page); reads < 10 || reads > 11 || woken != reads {
			t.Errorf("%d reads in 102 s, and the job was woken %d times", reads, woken)
		}
		before := p.watch(aJob, page)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached))
		pass(12 * time.Second)
		if shown := p.watch(aJob, page); shown.Step != before.Step || !shown.Read.Equal(before.Read) || shown.Err == nil {
			t.Errorf("after a read that failed it shows %+v, before %+v", shown, before)
		}
		s.fail(progress.ErrSilent)
		pass(12 * time.Second)
		if shown := p.watch(aJob, page); shown.Step != before.Step || !shown.Read.After(before.Read) || shown.Err != nil {
			t.Errorf("of a silent process it shows %+v, before %+v", shown, before)
		}
		once := p.watch(aJob, page)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached)) // the queue of connections cannot be full yet
		pass(12 * time.Second)
		if shown := p.watch(aJob, page); !shown.Read.Equal(once.Read) || shown.Err == nil {
			t.Errorf("of a process that was silent once, and cannot be reached, it shows %+v", shown)
		}
		s.fail(progress.ErrSilent)
		pass(70 * time.Second)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached)) // the queue of connections of a silent process is full
		pass(12 * time.Second)
		silent := p.watch(aJob, page)
		if time.Since(silent.Read) > 12*time.Second || silent.Err != nil {
			t.Errorf("of a silent process that takes no further connection it shows %+v", silent)
		}
		s.fail(errors.New("connection refused"))
		pass(12 * time.Second)
		if shown := p.watch(aJob, page); shown.Read.After(silent.Read.Add(12*time.Second)) || shown.Err == nil {
			t.Errorf("of a process that no longer listens it shows %+v", shown)
		}
		p.want(aJob, nil)
		last, _ := s.counts(page)
		pass(time.Minute)
		if reads, _ := s.counts(page); reads != last {
			t.Errorf("%d reads of a job that is gone", reads-last)
		}
	})
}

// The answer of a pod that was replaced meanwhile is no answer of its successor, even at the same address.
func TestAReadOfAFormerPodDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := []string{step(9), step(1)}
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) {
			body := bodies[0]
			bodies = bodies[1:]
			return body, 2 * time.Second, nil
		}}
		p := s.pages()
		former, present := pageOf(1), pageOf(1)
		present.Pod = "another"
		p.watch(aJob, former)
		pass(time.Second)
		p.watch(aJob, present)
		pass(1500 * time.Millisecond)
		_, woken := s.counts(present)
		if shown := p.watch(aJob, present); shown.Step != 0 || !shown.Read.IsZero() || woken != 0 {
			t.Errorf("the former pod's answer counts: %+v", shown)
		}
		pass(time.Second)
		if shown := p.watch(aJob, present); shown.Step != 1 {
			t.Errorf("the pod's own answer does not count: %+v", shown)
		}
		p.want(aJob, nil)
	})
}

// A page that is read more often keeps what it has shown, and is read at once.
func TestAnotherIntervalKeepsTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) { return step(7), 0, nil }}
		p, page := s.pages(), pageOf(1)
		p.watch(aJob, page)
		pass(time.Second)
		page.Every = time.Second
		if shown := p.watch(aJob, page); shown.Step != 7 {
			t.Errorf("it shows %+v", shown)
		}
		synctest.Wait()
		if reads, _ := s.counts(page); reads != 2 {
			t.Errorf("%d reads, want a second one at once", reads)
		}
		p.want(aJob, nil)
	})
}

// A namespace whose processes are all silent holds a quarter of the reads, and each read ends after 2 s.
func TestSilentPagesOfANamespaceLeaveTheOthersTheirReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		atOnce, most := 0, 0
		s := &site{}
		s.serve = func(netip.AddrPort) (string, time.Duration, error) { return step(1), 0, nil }
		p := s.pages()
		p.Page = func(_ context.Context, page netip.AddrPort, _ progress.Target) ([]byte, error) {
			if page != pageOf(0).Address {
				s.mu.Lock()
				atOnce++
				most = max(most, atOnce)
				s.mu.Unlock()
				time.Sleep(2 * time.Second)
				s.mu.Lock()
				atOnce--
				s.mu.Unlock()
				return nil, progress.ErrSilent
			}
			return []byte(step(1)), nil
		}
		for i := range 300 {
			p.watch(client.ObjectKey{Namespace: "silent", Name: fmt.Sprint(i)}, pageOf(i+1))
		}
		synctest.Wait()
		p.watch(aJob, pageOf(0))
		synctest.Wait()
		if shown := p.watch(aJob, pageOf(0)); shown.Step != 1 {
			t.Errorf("the other namespace's page is not read: %+v", shown)
		}
		pass(30 * time.Second)
		s.mu.Lock()
		if most != PageReads/fair.Shares {
			t.Errorf("%d reads of one namespace at once, want %d", most, PageReads/fair.Shares)
		}
		s.mu.Unlock()
		p.mu.Lock()
		jobs := slices.Collect(maps.Keys(p.jobs))
		p.mu.Unlock()
		for _, job := range jobs {
			p.want(job, nil)
		}
		pass(time.Minute)
	})
}

// A report is new if its time or its step differs from the last read, and it counts from that read. The clock of its node may show any time.
func TestAReportCountsFromWhenItWasFirstSeen(t *testing.T) {
	var shown Reading
	for _, read := range []struct {
		what string
		now  time.Duration
		page string
		err  error
		want time.Duration
	}{
		{"an hour behind", 0, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"the same", 10 * time.Second, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"a newer one", 20 * time.Second, `{"time":"2026-01-05T11:00:15Z","step":1}`, nil, 20 * time.Second},
		{"an hour ahead", 30 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"the same, after a read that failed", 50 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"set back", 60 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":1}`, nil, 60 * time.Second},
		{"a clock that stands, and a newer step", 70 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2}`, nil, 70 * time.Second},
		{"another process", 80 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2,"attempt":1}`, nil, 80 * time.Second},
		{"silence", 90 * time.Second, "", progress.ErrSilent, 80 * time.Second},
	} {
		shown = shown.After(builder.Epoch.Add(read.now), []byte(read.page), read.err)
		if got := shown.Renewed.Sub(builder.Epoch); got != read.want {
			t.Errorf("%s: first seen at %v, want %v", read.what, got, read.want)
		}
	}
}

// A process counts from when its page is first wanted in place of another. One that the operator finds when it starts may have run for long.
func TestAProcessCountsFromWhenItsPageIsFirstWanted(t *testing.T) {
	var r Reading
	for _, want := range []struct{ now, began, since time.Duration }{
		{0, time.Hour, -1}, {10 * time.Second, time.Hour, -1}, {20 * time.Second, -time.Hour, 20 * time.Second}, {30 * time.Second, -time.Hour, 20 * time.Second},
	} {
		r = r.To(&Page{Pod: "p", Process: builder.Epoch.Add(want.began)}, builder.Epoch.Add(want.now))
		if began := r.Seen().Began; began.IsZero() != (want.since < 0) || !began.IsZero() && began.Sub(builder.Epoch) != want.since {
			t.Errorf("at %v the process began at %v, want %v", want.now, began, want.since)
		}
	}
}
