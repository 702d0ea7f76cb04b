package cluster

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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
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

func (s *site) pages() *pages {
	s.reads, s.woken = map[netip.AddrPort]int{}, map[client.ObjectKey]int{}
	changed := func(job client.ObjectKey) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.woken[job]++
	}
	return newPages(s.read, clock.RealClock{}, changed)
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
		if shown := p.Watch(aJob, page); shown.Step != 0 || !shown.Read.IsZero() {
			t.Errorf("before the first read it shows %+v", shown)
		}
		pass(2 * time.Second)
		_, woken := s.counts(page)
		if shown := p.Watch(aJob, page); shown.Step != 1 || !shown.Read.Equal(began) || woken != 1 {
			t.Errorf("after the first read it shows %+v, and the job was woken %d times", shown, woken)
		}
		pass(100 * time.Second) // an interval is 10 to 11 s
		if reads, woken := s.counts(page); reads < 10 || reads > 11 || woken != reads {
			t.Errorf("%d reads in 102 s, and the job was woken %d times", reads, woken)
		}
		before := p.Watch(aJob, page)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached))
		pass(12 * time.Second)
		if shown := p.Watch(aJob, page); shown.Step != before.Step || !shown.Read.Equal(before.Read) || shown.Err == nil {
			t.Errorf("after a read that failed it shows %+v, before %+v", shown, before)
		}
		s.fail(progress.ErrSilent)
		pass(12 * time.Second)
		if shown := p.Watch(aJob, page); shown.Step != before.Step || !shown.Read.After(before.Read) || shown.Err != nil {
			t.Errorf("of a silent process it shows %+v, before %+v", shown, before)
		}
		once := p.Watch(aJob, page)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached)) // the queue of connections cannot be full yet
		pass(12 * time.Second)
		if shown := p.Watch(aJob, page); !shown.Read.Equal(once.Read) || shown.Err == nil {
			t.Errorf("of a process that was silent once, and cannot be reached, it shows %+v", shown)
		}
		s.fail(progress.ErrSilent)
		pass(70 * time.Second)
		s.fail(fmt.Errorf("reading: %w", progress.ErrUnreached)) // the queue of connections of a silent process is full
		pass(12 * time.Second)
		silent := p.Watch(aJob, page)
		if time.Since(silent.Read) > 12*time.Second || silent.Err != nil {
			t.Errorf("of a silent process that takes no further connection it shows %+v", silent)
		}
		s.fail(errors.New("connection refused"))
		pass(12 * time.Second)
		if shown := p.Watch(aJob, page); shown.Read.After(silent.Read.Add(12*time.Second)) || shown.Err == nil {
			t.Errorf("of a process that no longer listens it shows %+v", shown)
		}
		p.Forget(aJob)
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
		p.Watch(aJob, former)
		pass(time.Second)
		p.Watch(aJob, present)
		pass(1500 * time.Millisecond)
		_, woken := s.counts(present)
		if shown := p.Watch(aJob, present); shown.Step != 0 || !shown.Read.IsZero() || woken != 0 {
			t.Errorf("the former pod's answer counts: %+v", shown)
		}
		pass(time.Second)
		if shown := p.Watch(aJob, present); shown.Step != 1 {
			t.Errorf("the pod's own answer does not count: %+v", shown)
		}
		p.Forget(aJob)
	})
}

// A page that is read more often keeps what it has shown, and is read at once.
func TestAnotherIntervalKeepsTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) { return step(7), 0, nil }}
		p, page := s.pages(), pageOf(1)
		p.Watch(aJob, page)
		pass(time.Second)
		page.Every = time.Second
		if shown := p.Watch(aJob, page); shown.Step != 7 {
			t.Errorf("it shows %+v", shown)
		}
		synctest.Wait()
		if reads, _ := s.counts(page); reads != 2 {
			t.Errorf("%d reads, want a second one at once", reads)
		}
		p.Forget(aJob)
	})
}

// A namespace whose processes are all silent holds a quarter of the reads, and each read ends after 2 s.
func TestSilentPagesOfANamespaceLeaveTheOthersTheirReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		atOnce, most := 0, 0
		s := &site{}
		s.serve = func(netip.AddrPort) (string, time.Duration, error) { return step(1), 0, nil }
		p := s.pages()
		p.read = func(_ context.Context, page netip.AddrPort, _ progress.Target) ([]byte, error) {
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
			p.Watch(client.ObjectKey{Namespace: "silent", Name: fmt.Sprint(i)}, pageOf(i+1))
		}
		synctest.Wait()
		p.Watch(aJob, pageOf(0))
		synctest.Wait()
		if shown := p.Watch(aJob, pageOf(0)); shown.Step != 1 {
			t.Errorf("the other namespace's page is not read: %+v", shown)
		}
		pass(30 * time.Second)
		s.mu.Lock()
		if most != PageReads/shares {
			t.Errorf("%d reads of one namespace at once, want %d", most, PageReads/shares)
		}
		s.mu.Unlock()
		p.mu.Lock()
		jobs := slices.Collect(maps.Keys(p.jobs))
		p.mu.Unlock()
		for _, job := range jobs {
			p.Forget(job)
		}
		pass(time.Minute)
	})
}

// fixed are Pages that show the same of each page.
type fixed struct {
	shown   Shown
	watched *Page
	asked   []RankPage
}

func (f *fixed) Watch(_ client.ObjectKey, p Page) Shown { f.watched = &p; return f.shown }
func (f *fixed) Forget(client.ObjectKey) Shown {
	f.watched = nil
	return f.shown
}
func (f *fixed) Stacks(_ client.ObjectKey, ranks []RankPage) state.Stacks {
	f.asked = ranks
	return state.Stacks{}
}

func TestThePageOfRank0IsReadWhileItRuns(t *testing.T) {
	run := func(change ...builder.PodOption) []builder.PodOption {
		return append([]builder.PodOption{builder.Edit(func(pod *corev1.Pod) {
			pod.Status.PodIP, pod.Status.HostIP = "10.1.2.3", "192.168.0.1"
			pod.Annotations = map[string]string{v1alpha1.AnnotationLifeNumber: "4"}
		})}, change...)
	}
	edit := func(change func(*corev1.Pod)) builder.PodOption { return builder.Edit(change) }
	const mustHold = "with hostNetwork the page is read only while the main container runs and names the port 9500 in its ports, without hostIP"
	for name, c := range map[string]struct {
		phase corev1.PodPhase
		pod   []builder.PodOption
		said  progress.Said
		reads bool
		want  state.Progress
	}{
		"it runs": {corev1.PodRunning, run(), progress.Said{Attempt: "0", Life: "4", Progress: state.Progress{Step: 7, Renewed: builder.Epoch}}, true,
			state.Progress{Step: 7, Renewed: builder.Epoch, Read: builder.Epoch}},
		"an earlier process answers":                  {corev1.PodRunning, run(), progress.Said{Life: "3", Progress: state.Progress{Step: 7}}, true, state.Progress{Read: builder.Epoch}},
		"another attempt answers":                     {corev1.PodRunning, run(), progress.Said{Attempt: "1", Progress: state.Progress{Step: 7}}, true, state.Progress{Read: builder.Epoch}},
		"it starts":                                   {corev1.PodPending, run(), progress.Said{}, false, state.Progress{}},
		"it has failed":                               {corev1.PodFailed, run(builder.Exit(1)), progress.Said{}, false, state.Progress{}},
		"it was created before the page":              {corev1.PodRunning, run(builder.MadeWith()), progress.Said{}, false, state.Progress{}},
		"it is on the host network, without the port": {corev1.PodRunning, run(onHost()), progress.Said{}, false, state.Progress{Unread: mustHold}},
		"it is on the host network, and starts":       {corev1.PodRunning, run(builder.MadeWith("PORT"), edit(func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }), declares(9500)), progress.Said{}, false, state.Progress{Unread: mustHold}},
		"it is on the host network, with the port": {corev1.PodRunning, run(onHost(), declares(9500)), progress.Said{Progress: state.Progress{Step: 7, Renewed: builder.Epoch}}, true,
			state.Progress{Step: 7, Renewed: builder.Epoch, Read: builder.Epoch}},
		"it has the address of its node": {corev1.PodRunning, run(edit(func(pod *corev1.Pod) { pod.Status.PodIP = "192.168.0.1" })), progress.Said{}, false,
			state.Progress{Unread: "the pod has no address of its own"}},
		"it has the address of the API server": {corev1.PodRunning, run(edit(func(pod *corev1.Pod) { pod.Status.PodIP = "10.96.0.1" })), progress.Said{}, false,
			state.Progress{Unread: "the pod's address 10.96.0.1 is the address of the API server"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := builder.Job("j", builder.Workers(2), builder.Page(9500, 60, v1alpha1.StallRestart))
			pages := &fixed{shown: Shown{Said: c.said, Read: builder.Epoch}}
			cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Pages: pages, Fence: progress.Fence{Addresses: progress.Hosts("https://10.96.0.1")}})
			s := builder.Snapshot(job, inPhase(c.phase, c.pod))
			cl.addPage(s)
			if (pages.watched != nil) != c.reads {
				t.Errorf("the page is read: %v, want %t", pages.watched, c.reads)
			}
			if c.reads && *pages.watched != (Page{Pod: s.Pods[0].UID, Address: netip.MustParseAddrPort("10.1.2.3:9500"), Every: 3 * time.Second}) {
				t.Errorf("the page is %+v", *pages.watched)
			}
			if diff := cmp.Diff(c.want, s.Progress); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// A port that an administrator forbids on nodes is not read, neither for reports nor for stacks, and the job shows why.
func TestAForbiddenPortOfNodesIsNotRead(t *testing.T) {
	ports, err := progress.ParsePorts([]string{"9500"})
	if err != nil {
		t.Fatal(err)
	}
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.RunsSince(0))
	pages := &fixed{}
	cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Pages: pages, Fence: progress.Fence{NodePorts: ports}})
	s := builder.Snapshot(job, builder.Running("worker", 0, onHost(), declares(9500), builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP = "192.168.0.7" })))
	cl.addPage(s)
	ranks, _ := cl.rankPages(s)
	if pages.watched != nil || len(ranks) != 0 || s.Progress.Unread != "the operator's --forbidden-page-ports forbids the port 9500 of the page with hostNetwork: choose another progress.port" {
		t.Errorf("the page %v is read, and %v for stacks: %q", pages.watched, ranks, s.Progress.Unread)
	}
}

// onHost puts the pod on the network of its node, and lets its main container run.
func onHost() builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
}

// declares names the port in the ports of the main container.
func declares(port int32) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port}} })
}

func inPhase(phase corev1.PodPhase, pod []builder.PodOption) builder.SnapshotOption {
	return map[corev1.PodPhase]func(string, int, ...builder.PodOption) builder.SnapshotOption{
		corev1.PodPending: builder.Pending, corev1.PodRunning: builder.Running, corev1.PodFailed: builder.Failed,
	}[phase]("worker", 0, pod...)
}
