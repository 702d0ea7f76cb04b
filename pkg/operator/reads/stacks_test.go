package reads

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

const waitsInBarrier = `{"threads":[{"frames":[{"function":"barrier","file":"/app/train.py","line":7}]}]}`

func rankPages(n int) (ranks []RankPage) {
	for i := range n {
		ranks = append(ranks, RankPage{Slot: state.Slot{Role: v1alpha1.Worker, Index: i}, Address: pageOf(i).Address})
	}
	return ranks
}

func (s *site) stacks() *stackReads { return newStacks(s.settings()) }

// of has the stacks of the ranks read, and returns them.
func (r *stackReads) of(job client.ObjectKey, ranks []RankPage) state.Stacks {
	r.want(job, ranks, 0)
	return r.seen(job)
}

func TestStacksAreReadOnceWhileAJobHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{serve: func(netip.AddrPort) (string, time.Duration, error) {
			return waitsInBarrier, 500 * time.Millisecond, nil
		}}
		p, ranks, began := s.stacks(), rankPages(2), time.Now()
		if got := p.of(aJob, ranks); !got.Until.Equal(began.Add(2 * time.Second)) {
			t.Errorf("at once they are %+v", got)
		}
		pass(time.Second)
		want := state.Stacks{Until: began.Add(500 * time.Millisecond), List: []state.Stack{
			{Slot: state.Slot{Role: v1alpha1.Worker, Index: 0}, Where: "barrier (train.py:7)"}, {Slot: state.Slot{Role: v1alpha1.Worker, Index: 1}, Where: "barrier (train.py:7)"},
		}}
		for range 3 {
			if diff := cmp.Diff(want, p.of(aJob, ranks)); diff != "" {
				t.Errorf("stacks (-want +got):\n%s", diff)
			}
			pass(time.Minute)
		}
		if reads, woken := s.counts(pageOf(0)); reads != 1 || woken != 1 {
			t.Errorf("%d reads, and the job was woken %d times", reads, woken)
		}
		p.of(aJob, nil) // it hangs no more
		p.of(aJob, ranks)
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
		p, ranks := s.stacks(), rankPages(1)
		p.of(aJob, ranks)
		pass(500 * time.Millisecond)
		p.of(aJob, nil)
		p.of(aJob, ranks)
		pass(600 * time.Millisecond)
		if got := p.of(aJob, ranks); !got.List[0].IsSilent || !got.Until.After(time.Now()) {
			t.Errorf("the stacks are %+v, want none yet", got)
		}
		pass(time.Second)
		if got := p.of(aJob, ranks); got.List[0].IsSilent || got.Until.After(time.Now()) {
			t.Errorf("the stacks are %+v, want one", got)
		}
	})
}

// The reads of 256 silent ranks take 2 s, as the read of one. A rank without a free read was not asked, and so is not silent.
func TestStacksOfSilentRanksTakeTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{}
		p := s.stacks()
		p.Page = func(ctx context.Context, _ netip.AddrPort, target progress.Target) ([]byte, error) {
			if target != progress.Stacks {
				t.Errorf("a read of %v", target)
			}
			<-ctx.Done()
			return nil, progress.ErrSilent
		}
		ranks := rankPages(MaxStacks)
		p.of(aJob, ranks)
		pass(2 * time.Second)
		got := p.of(aJob, ranks)
		silent := 0
		for _, stack := range got.List {
			if stack.IsSilent {
				silent++
			}
		}
		if len(got.List) != MaxStacks || silent != StackReads/fair.Shares {
			t.Errorf("%d stacks, %d silent, want %d and %d", len(got.List), silent, MaxStacks, StackReads/fair.Shares)
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
		p, ranks := s.stacks(), rankPages(2)
		until := p.of(aJob, ranks).Until
		time.Sleep(time.Until(until))
		want := []state.Stack{{Slot: ranks[0].Slot, Where: "barrier (train.py:7)"}, {Slot: ranks[1].Slot, IsSilent: true}}
		if diff := cmp.Diff(want, p.of(aJob, ranks).List); diff != "" {
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
