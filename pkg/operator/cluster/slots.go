package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shares is how many namespaces it takes to use all slots. One namespace holds at most this fraction of them.
const shares = 4

// slots admits requests, first come, first served. A namespace holds at most its share of them. So a namespace whose writes hang,
// for example because of its own webhook, leaves the others their slots.
type slots struct {
	all   *semaphore.Weighted
	share int64

	// waiting is how many writes wait for a slot.
	waiting atomic.Int64

	mu         sync.Mutex
	namespaces map[string]*namespaceSlots
}

// namespaceSlots are the slots of one namespace. users counts the requests that hold one or wait for one.
type namespaceSlots struct {
	free  *semaphore.Weighted
	users int
}

func newSlots(n int) *slots {
	return &slots{all: semaphore.NewWeighted(int64(n)), share: max(1, int64(n)/shares), namespaces: map[string]*namespaceSlots{}}
}

// acquire waits for a slot and returns the function that releases it. It returns an error once the context has ended.
func (s *slots) acquire(ctx context.Context, namespace string) (release func(), err error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	own := s.enter(namespace)
	if err := own.free.Acquire(ctx, 1); err != nil {
		s.leave(namespace)
		return nil, fmt.Errorf("waiting for a slot: %w", err)
	}
	if err := s.all.Acquire(ctx, 1); err != nil {
		own.free.Release(1)
		s.leave(namespace)
		return nil, fmt.Errorf("waiting for a slot: %w", err)
	}
	return func() {
		s.all.Release(1)
		own.free.Release(1)
		s.leave(namespace)
	}, nil
}

// WaitingWrites returns how many writes wait for a slot.
func (c *Cluster) WaitingWrites() int { return int(c.writes.waiting.Load()) }

func (s *slots) enter(namespace string) *namespaceSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.namespaces[namespace]
	if own == nil {
		own = &namespaceSlots{free: semaphore.NewWeighted(s.share)}
		s.namespaces[namespace] = own
	}
	own.users++
	return own
}

func (s *slots) leave(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.namespaces[namespace]; own.users > 1 {
		own.users--
		return
	}
	delete(s.namespaces, namespace)
}

// FairReader returns a reader whose reads share n slots between namespaces: one namespace holds at most a quarter of them.
func FairReader(reader client.Reader, n int) client.Reader { return fairReader{reader, newSlots(n)} }

// fairReader reads from the API server. The reads of a namespace share slots as its writes do. A namespace whose pods need a read
// each therefore does not delay the others.
type fairReader struct {
	client.Reader
	slots *slots
}

// Get reads one object once there is a slot.
func (r fairReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	release, err := r.slots.acquire(ctx, key.Namespace)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	defer release()
	return r.Reader.Get(ctx, key, o, options...)
}

// List reads a list once there is a slot.
func (r fairReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	release, err := r.slots.acquire(ctx, (&client.ListOptions{}).ApplyOptions(options).Namespace)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	defer release()
	return r.Reader.List(ctx, list, options...)
}
