package fair

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Shares is how many namespaces it takes to use all slots. One namespace holds at most this fraction of them.
const Shares = 4

// Slots admits requests, first come, first served. A namespace holds at most its share of them. So a namespace whose writes hang,
// for example because of its own webhook, leaves the others their slots.
type Slots struct {
	all   *semaphore.Weighted
	share int64

	// waiting is how many requests wait for a slot.
	waiting atomic.Int64

	mu         sync.Mutex
	namespaces map[string]*namespaceSlots
}

// namespaceSlots are the slots of one namespace. users counts the requests that hold one or wait for one.
type namespaceSlots struct {
	free  *semaphore.Weighted
	users int
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	return &Slots{all: semaphore.NewWeighted(int64(n)), share: max(1, int64(n)/Shares), namespaces: map[string]*namespaceSlots{}}
}

// Acquire waits for a slot and returns the function that releases it. It returns an error once the context has ended.
func (s *Slots) Acquire(ctx context.Context, namespace string) (release func(), err error) {
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

// Waiting returns how many requests wait for a slot.
func (s *Slots) Waiting() int { return int(s.waiting.Load()) }

// Share returns how many slots a namespace holds at most.
func (s *Slots) Share() int { return int(s.share) }

func (s *Slots) enter(namespace string) *namespaceSlots {
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

func (s *Slots) leave(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.namespaces[namespace]; own.users > 1 {
		own.users--
		return
	}
	delete(s.namespaces, namespace)
}

// Reader returns a reader whose reads share n slots between namespaces: one namespace holds at most a quarter of them.
func Reader(reader client.Reader, n int) client.Reader { return sharedReader{reader, NewSlots(n)} }

// sharedReader reads from the API server. The reads of a namespace share slots as its writes do. A namespace whose pods need a read
// each therefore does not delay the others.
type sharedReader struct {
	client.Reader
	slots *Slots
}

// Get reads one object once there is a slot.
func (r sharedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	release, err := r.slots.Acquire(ctx, key.Namespace)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	defer release()
	return r.Reader.Get(ctx, key, o, options...)
}

// List reads a list once there is a slot.
func (r sharedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	release, err := r.slots.Acquire(ctx, (&client.ListOptions{}).ApplyOptions(options).Namespace)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	defer release()
	return r.Reader.List(ctx, list, options...)
}
