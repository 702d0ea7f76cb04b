package reads

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
)

// heartbeats are nodes that renew their Leases every 10 s, in synctest's time.
type heartbeats struct {
	mu     sync.Mutex
	stops  map[string]time.Time
	reads  int
	woken  map[client.ObjectKey]int
	broken error
}

func (h *heartbeats) silence() *Silence { return h.silenceAfter(0) }

func (h *heartbeats) silenceAfter(patience time.Duration) *Silence {
	h.woken = map[client.ObjectKey]int{}
	return NewSilence(&Settings{Leases: h.read, Clock: clock.RealClock{}, Patience: patience, Log: logr.Discard(), Changed: func(job client.ObjectKey) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.woken[job]++
	}})
}

// of has the Leases read for a job that waits for these nodes, and returns which of them are silent.
func (s *Silence) of(job client.ObjectKey, nodes []string) map[string]time.Time {
	s.Want(job, nodes)
	return s.Seen(job)
}

func (h *heartbeats) read(context.Context) (map[string]nodes.Lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	if h.broken != nil {
		return nil, h.broken
	}
	read := map[string]nodes.Lease{}
	for _, name := range []string{"a", "b", "c", "d"} {
		at := time.Now()
		if stops, isSilent := h.stops[name]; isSilent {
			at = stops
		}
		read[name] = nodes.Lease{Renewed: at.Truncate(10 * time.Second)}
	}
	return read, nil
}

func (h *heartbeats) counts() (reads, woken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reads, h.woken[aJob]
}

func TestANodeIsSilentForAJobThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{stops: map[string]time.Time{"b": time.Now()}}
		s, all := h.silence(), []string{"a", "b"}
		if got := s.of(aJob, all); len(got) > 0 {
			t.Errorf("at once %v are silent", got)
		}
		pass(40 * time.Second)
		if _, woken := h.counts(); woken != 1 {
			t.Errorf("the job was woken %d times, want once", woken)
		}
		if got := slices.Collect(maps.Keys(s.of(aJob, all))); !slices.Equal(got, []string{"b"}) {
			t.Errorf("after 40 s %v are silent", got)
		}
		pass(5 * time.Minute) // as long as the node is silent
		h.mu.Lock()
		delete(h.stops, "b")
		h.mu.Unlock()
		pass(10 * time.Second)
		if got := s.of(aJob, all); len(got) > 0 {
			t.Errorf("after the node is back %v are silent", got)
		}
		if _, woken := h.counts(); woken != 2 {
			t.Errorf("the job was woken %d times, want twice", woken)
		}
	})
}

func TestLeasesAreReadOnlyWhileAJobWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{}
		s := h.silence()
		s.of(aJob, nil)
		pass(time.Minute)
		if reads, _ := h.counts(); reads != 0 {
			t.Errorf("%d reads while no job waits", reads)
		}
		s.of(aJob, []string{"a"})
		s.of(client.ObjectKey{Name: "other"}, []string{"b"})
		pass(21 * time.Second)
		if reads, _ := h.counts(); reads != 5 {
			t.Errorf("%d reads for two jobs in 21 s, want one every 5 s", reads)
		}
		pass(time.Hour)
		reads, woken := h.counts()
		if most := int(leasesFor/leasesEvery) + 1; reads > most || woken > 0 {
			t.Errorf("%d reads and %d wakes in an hour, want at most %d and none", reads, woken, most)
		}
		s.of(aJob, nil)
		s.of(aJob, []string{"a"}) // another restart
		pass(time.Second)
		if again, _ := h.counts(); again != reads+1 {
			t.Errorf("%d reads after another restart, want one more than %d", again, reads)
		}
		s.of(aJob, nil)
		s.of(client.ObjectKey{Name: "other"}, nil)
		pass(time.Minute)
	})
}

// breaks has all reads fail from now on.
func (h *heartbeats) breaks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = errors.New("too many requests")
}

func TestASilentNodeCountsOnlyAsLongAsReadsShowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{stops: map[string]time.Time{"b": time.Now()}}
		s := h.silence()
		s.of(aJob, []string{"b"})
		pass(40 * time.Second)
		if got := s.of(aJob, []string{"b"}); len(got) != 1 {
			t.Fatalf("%v are silent", got)
		}
		h.breaks()
		pass(25 * time.Second)
		if got := s.of(aJob, []string{"b"}); len(got) > 0 {
			t.Errorf("25 s after the last read %v are silent", got)
		}
		s.of(aJob, nil)
		pass(time.Minute)
	})
}

func TestLeasesAreReadForLongerThanAPatientOperatorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{stops: map[string]time.Time{"b": time.Now()}}
		s := h.silenceAfter(5 * time.Minute)
		s.of(aJob, []string{"b"})
		pass(6 * time.Minute)
		if got := s.of(aJob, []string{"b"}); len(got) != 1 {
			t.Errorf("after 6 minutes %v are silent", got)
		}
		s.of(aJob, nil)
		pass(time.Minute)
	})
}

func TestWithoutReadsNoNodeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{stops: map[string]time.Time{"b": time.Now()}, broken: errors.New("forbidden")}
		s := h.silence()
		s.of(aJob, []string{"b"})
		pass(50 * time.Second)
		if got := s.of(aJob, []string{"b"}); len(got) > 0 {
			t.Errorf("%v are silent", got)
		}
		s.of(aJob, nil)
		pass(time.Minute)
	})
}
