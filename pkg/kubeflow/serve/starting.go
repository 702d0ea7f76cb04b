package serve

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// starting holds the jobs of all kinds whose pods do not all run yet, by the UID of their TrainingJob, each until its Services give way no longer.
type starting struct {
	mu    sync.Mutex
	until map[types.UID]time.Time
}

func newStarting() *starting { return &starting{until: map[types.UID]time.Time{}} }

func (s *starting) add(job types.UID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until[job] = until
}

func (s *starting) remove(job types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, job)
}

// isAny reports whether a job starts. It forgets those whose time is over, also the deleted ones.
func (s *starting) isAny(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.until, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
	return len(s.until) > 0
}
