package cluster

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/progress"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// ranksOf returns the pages of that many workers, at the addresses 10.0.0.INDEX.
func ranksOf(n int) []RankPage {
	var list []RankPage
	for i := range n {
		list = append(list, RankPage{
			Slot: state.Slot{Role: v1alpha1.Worker, Index: i}, Pod: types.UID(fmt.Sprint(i)), Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 9500),
		})
	}
	return list
}

// A worker that makes a step each 20 s among workers that make one each 4 s shows after ten minutes, and shows no more once it is as fast. The
// job is woken when what is shown changes, and each page is read every 150 s.
func TestAStragglerShowsAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var caughtUp atomic.Int64 // steps that worker 2 has more by then
		s := &site{}
		s.serve = func(at netip.AddrPort) (string, time.Duration, error) {
			every := 4 * time.Second
			if at.Addr().As4()[3] == 2 && caughtUp.Load() == 0 {
				every = 20 * time.Second
			}
			step := 1 + int64(time.Since(begun)/every)
			return fmt.Sprintf(`{"time": %q, "step": %d, "attempt": 0, "life": 0}`, time.Now().Format(time.RFC3339), step), 10 * time.Millisecond, nil
		}
		p, ranks := s.pages(), ranksOf(4)
		look := func(minutes int) []v1alpha1.Straggler {
			for range minutes * 6 {
				p.Stragglers(aJob, ranks)
				pass(10 * time.Second)
			}
			slow := p.Stragglers(aJob, ranks)
			pass(time.Second) // a read that this began ends
			return slow
		}
		if got := look(9); got != nil {
			t.Errorf("after 9 minutes the stragglers are %v", got)
		}
		if diff := cmp.Diff([]v1alpha1.Straggler{{Replica: "worker-2", PercentOfMedian: 20}}, look(3)); diff != "" {
			t.Errorf("after 12 minutes (-want +got):\n%s", diff)
		}
		if s.woken[aJob] != 1 || s.reads[ranks[0].Address] != 5 {
			t.Errorf("the job is woken %d times and a page read %d times, want 1 and 5", s.woken[aJob], s.reads[ranks[0].Address])
		}
		caughtUp.Store(1)
		if got := look(12); got != nil || s.woken[aJob] != 2 {
			t.Errorf("it has caught up, and the stragglers are %v after %d calls", got, s.woken[aJob])
		}
		if got := p.Stragglers(aJob, nil); got != nil || len(p.paced) != 0 {
			t.Errorf("without ranks the stragglers are %v of %d jobs", got, len(p.paced))
		}
	})
}

// A page of another program, an error and a report without a step show no rank as slow.
func TestARankWithoutStepsIsNoStraggler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := &site{}
		s.serve = func(at netip.AddrPort) (string, time.Duration, error) {
			switch at.Addr().As4()[3] {
			case 0:
				return "hello", 0, nil
			case 1:
				return "", 0, progress.ErrSilent
			case 2:
				return fmt.Sprintf(`{"time": %q}`, time.Now().Format(time.RFC3339)), 0, nil
			}
			return fmt.Sprintf(`{"time": %q, "step": %d}`, time.Now().Format(time.RFC3339), 1+int64(time.Since(begun).Seconds())), 0, nil
		}
		p, ranks := s.pages(), ranksOf(7)
		for range 20 {
			if got := p.Stragglers(aJob, ranks); got != nil {
				t.Fatalf("the stragglers are %v", got)
			}
			pass(time.Minute)
		}
	})
}

// Of two ranks neither is slow, so their pages are not read for their steps.
func TestTwoRanksAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) { return "{}", 0, nil }}
		s.pages().Stragglers(aJob, ranksOf(2))
		pass(time.Second)
		if len(s.reads) != 0 {
			t.Errorf("the pages are read: %v", s.reads)
		}
	})
}

// The steps are compared while the job runs and serves pages, and nothing is read of evaluators.
func TestWhoseStepsAreCompared(t *testing.T) {
	at := func(ip string) builder.PodOption {
		return builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP, pod.Status.HostIP = ip, "192.168.0.1" })
	}
	page, runs := builder.Page(9500, 60, v1alpha1.StallNotify), builder.RunsSince(0)
	for name, c := range map[string]struct {
		options []builder.JobOption
		want    int
	}{
		"a job that runs":               {[]builder.JobOption{page, runs}, 2},
		"a job that does not run yet":   {[]builder.JobOption{page}, 0},
		"a job that reports by no page": {[]builder.JobOption{runs}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := builder.Job("j", append(c.options, builder.Workers(2), builder.Evaluators(1))...)
			pages := &fixed{}
			cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Pages: pages, Fence: progress.Fence{Addresses: progress.Hosts("https://10.96.0.1")}})
			cl.addStragglers(builder.Snapshot(job, builder.Running("worker", 0, at("10.1.0.1")), builder.Running("worker", 1, at("10.1.0.2")),
				builder.Running("evaluator", 0, at("10.1.0.3"))))
			if len(pages.compared) != c.want {
				t.Errorf("%d ranks are compared, want %d", len(pages.compared), c.want)
			}
		})
	}
}
