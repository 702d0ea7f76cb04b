package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/test/sim/builder"
)

const waitsInBarrier = `{"threads":[{"frames":[{"function":"barrier","file":"/app/train.py","line":7}]}]}`

func rankPages(n int) (ranks []RankPage) {
	for i := range n {
		ranks = append(ranks, RankPage{Slot: state.Slot{Role: v1alpha1.Worker, Index: i}, Address: pageOf(i).Address})
	}
	return ranks
}

func TestStacksAreReadOnceWhileAJobHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) {
			return waitsInBarrier, 500 * time.Millisecond, nil
		}}
		p, ranks, began := s.pages(), rankPages(2), time.Now()
		if got := p.Stacks(aJob, ranks); !got.Until.Equal(began.Add(2 * time.Second)) {
			t.Errorf("at once they are %+v", got)
		}
		pass(time.Second)
		want := state.Stacks{List: []state.Stack{
			{Slot: state.Slot{Role: v1alpha1.Worker, Index: 0}, Where: "barrier (train.py:7)"}, {Slot: state.Slot{Role: v1alpha1.Worker, Index: 1}, Where: "barrier (train.py:7)"},
		}}
		for range 3 {
			if diff := cmp.Diff(want, p.Stacks(aJob, ranks)); diff != "" {
				t.Errorf("stacks (-want +got):\n%s", diff)
			}
			pass(time.Minute)
		}
		if reads, woken := s.counts(pageOf(0)); reads != 1 || woken != 1 {
			t.Errorf("%d reads, and the job was woken %d times", reads, woken)
		}
		p.Stacks(aJob, nil) // it hangs no more
		p.Stacks(aJob, ranks)
		pass(time.Second)
		if reads, _ := s.counts(pageOf(0)); reads != 2 {
			t.Errorf("%d reads after two hangs", reads)
		}
	})
}

// A job that hangs no more has another hang's stacks only if they were read for it.
func TestAReadOfAnEarlierHangDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) { return waitsInBarrier, time.Second, nil }}
		p, ranks := s.pages(), rankPages(1)
		p.Stacks(aJob, ranks)
		pass(500 * time.Millisecond)
		p.Stacks(aJob, nil)
		p.Stacks(aJob, ranks)
		pass(600 * time.Millisecond)
		if got := p.Stacks(aJob, ranks); !got.List[0].IsSilent || got.Until.IsZero() {
			t.Errorf("the stacks are %+v, want none yet", got)
		}
		pass(time.Second)
		if got := p.Stacks(aJob, ranks); got.List[0].IsSilent || !got.Until.IsZero() {
			t.Errorf("the stacks are %+v, want one", got)
		}
	})
}

// The reads of 256 silent ranks take 2 s, as the read of one. A rank without a free read was not asked, and so is not silent.
func TestStacksOfSilentRanksTakeTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{}
		p := s.pages()
		p.read = func(ctx context.Context, _ netip.AddrPort, target progress.Target) ([]byte, error) {
			if target != progress.Stacks {
				t.Errorf("a read of %v", target)
			}
			<-ctx.Done()
			return nil, progress.ErrSilent
		}
		ranks := rankPages(maxStacks)
		p.Stacks(aJob, ranks)
		pass(2 * time.Second)
		got := p.Stacks(aJob, ranks)
		silent := 0
		for _, stack := range got.List {
			if stack.IsSilent {
				silent++
			}
		}
		if len(got.List) != maxStacks || silent != StackReads/shares {
			t.Errorf("%d stacks, %d silent, want %d and %d", len(got.List), silent, maxStacks, StackReads/shares)
		}
	})
}

// The restart goes on at Until, which is when a silent rank's read ends. What the others have shown counts then, whatever comes first.
func TestAReadThatGoesOnIsOfASilentRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{}
		s.serve = func(page netip.AddrPort) (string, time.Duration, error) {
			if page == pageOf(1).Address {
				return "", 3 * time.Second, progress.ErrSilent
			}
			return waitsInBarrier, 0, nil
		}
		p, ranks := s.pages(), rankPages(2)
		until := p.Stacks(aJob, ranks).Until
		time.Sleep(time.Until(until))
		want := []state.Stack{{Slot: ranks[0].Slot, Where: "barrier (train.py:7)"}, {Slot: ranks[1].Slot, IsSilent: true}}
		if diff := cmp.Diff(want, p.Stacks(aJob, ranks).List); diff != "" {
			t.Errorf("stacks (-want +got):\n%s", diff)
		}
		pass(2 * time.Second)
	})
}

func TestStacksOf(t *testing.T) {
	slot := state.Slot{Role: v1alpha1.Worker}
	for name, c := range map[string]struct {
		body string
		err  error
		want state.Stack
	}{
		"a page":                      {waitsInBarrier, nil, state.Stack{Slot: slot, Where: "barrier (train.py:7)"}},
		"another program's page":      {"<html>", nil, state.Stack{Slot: slot}},
		"nothing listens":             {"", errors.New("connection refused"), state.Stack{Slot: slot}},
		"a process that is stopped":   {"", progress.ErrSilent, state.Stack{Slot: slot, IsSilent: true}},
		"a page that the read breaks": {"", fmt.Errorf("the answer has status %d", 404), state.Stack{Slot: slot}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]state.Stack{c.want}, StacksOf(slot, []byte(c.body), c.err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The operator asks the ranks that run of a job that is to restart for a hang, and applies the refusals of the page to each.
func TestWhoIsAskedForStacks(t *testing.T) {
	at := func(ip string) builder.PodOption {
		return builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP, pod.Status.HostIP = ip, "192.168.0.1" })
	}
	now := 200 * time.Second
	for name, c := range map[string]struct {
		action  v1alpha1.StallAction
		read    time.Duration
		workers int
		want    []string
		unasked int
	}{
		"a job that hangs":                          {v1alpha1.StallRestart, now, 5, []string{"worker-0", "worker-1"}, 0},
		"a job that makes progress":                 {v1alpha1.StallRestart, 0, 5, nil, 0},
		"a job that does not restart":               {v1alpha1.StallNotify, now, 5, nil, 0},
		"a job with more ranks than the limit":      {v1alpha1.StallRestart, now, 300, nil, 300 - 3 - maxStacks},
		"a job with as many ranks as the limit has": {v1alpha1.StallRestart, now, maxStacks + 3, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := builder.Job("j", builder.Workers(c.workers), builder.Evaluators(1), builder.Page(9500, 60, c.action), builder.RunsSince(0))
			pods := []builder.SnapshotOption{builder.Now(now), builder.Read(c.read), builder.Running("evaluator", 0, at("10.1.0.9")), builder.Running("worker", 0, at("10.1.0.0")),
				builder.Running("worker", 1, at("10.1.0.1")), builder.Running("worker", 2, at("192.168.0.1")), builder.Running("worker", 3, at("10.96.0.1")),
				builder.Running("worker", 4, at("10.1.0.4"), builder.MadeWith())}
			for i := 5; i < c.workers; i++ {
				pods = append(pods, builder.Running("worker", i, at("10.1.1.1")))
			}
			pages := &fixed{}
			cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch.Add(now)), Options{Parallel: 1, Pages: pages, Fence: progress.Fence{Addresses: progress.Hosts("https://10.96.0.1")}})
			s := builder.Snapshot(job, pods...)
			cl.addStacks(s)
			var asked []string
			for _, rank := range pages.asked {
				asked = append(asked, rank.Slot.String())
			}
			if c.workers > 5 {
				if len(asked) != maxStacks {
					t.Errorf("%d ranks are asked, want %d", len(asked), maxStacks)
				}
			} else if diff := cmp.Diff(c.want, asked); diff != "" {
				t.Errorf("ranks (-want +got):\n%s", diff)
			}
			if s.Stacks.Unasked != c.unasked {
				t.Errorf("%d ranks are not asked, want %d", s.Stacks.Unasked, c.unasked)
			}
		})
	}
}
