package intake

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// BlindAfter is how long a list or watch of a kind may fail before the process is not ready.
const BlindAfter = time.Minute

// Feeds records how the list and watch of each cached kind fare. It is safe for concurrent use.
type Feeds struct {
	scheme *runtime.Scheme
	clock  clock.PassiveClock

	mu    sync.Mutex
	kinds map[string]*feed
}

// feed is the list and watch of one kind; with several namespaces, all of them together.
type feed struct {
	// isComplete is whether the cache has had every object.
	isComplete bool
	// heard is when the last list, event or bookmark came.
	heard time.Time
	// failing is since when nothing but errors has come; zero if the last answer was none.
	failing time.Time
	err     error
	errors  int
}

// NewFeeds returns Feeds that name kinds by the scheme.
func NewFeeds(scheme *runtime.Scheme, clock clock.PassiveClock) *Feeds {
	return &Feeds{scheme: scheme, clock: clock, kinds: map[string]*feed{}}
}

// NewInformer returns an informer whose list and watch are recorded. cache.Options.NewInformer takes it.
func (f *Feeds) NewInformer(from cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	inner, kind := cache.ToListerWatcherWithContext(from), f.kindOf(example)
	f.record(kind, func(*feed) {})
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := inner.ListWithContext(ctx, options)
			f.listed(ctx, kind, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := inner.WatchWithContext(ctx, options)
			if err != nil {
				f.failed(ctx, kind, err)
				return nil, err
			}
			isInitial := options.SendInitialEvents != nil && *options.SendInitialEvents
			if !isInitial {
				f.record(kind, f.saw)
			}
			return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
				f.received(kind, e, &isInitial)
				return e, true
			}), nil
		},
	}, example, resync, indexers)
}

func (f *Feeds) kindOf(example runtime.Object) string {
	kind, err := apiutil.GVKForObject(example, f.scheme)
	if err != nil {
		return fmt.Sprintf("%T", example)
	}
	return kind.GroupKind().String()
}

func (f *Feeds) listed(ctx context.Context, kind string, err error) {
	if err != nil {
		f.failed(ctx, kind, err)
		return
	}
	f.record(kind, f.saw)
}

// received records an event of a watch. The events that a watch begins with show nothing before their end, which a bookmark marks.
func (f *Feeds) received(kind string, e watch.Event, isInitial *bool) {
	switch {
	case e.Type == watch.Error:
		f.failed(context.Background(), kind, apierrors.FromObject(e.Object))
		return
	case e.Type == watch.Bookmark && *isInitial:
		bookmark, hasMeta := e.Object.(metav1.Object)
		*isInitial = !hasMeta || bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true"
	}
	f.record(kind, func(k *feed) {
		if *isInitial {
			k.heard = f.clock.Now()
		} else {
			f.saw(k)
		}
	})
}

// saw records that the kind can be seen.
func (f *Feeds) saw(k *feed) {
	k.isComplete, k.failing, k.err = true, time.Time{}, nil
	k.heard = f.clock.Now()
}

// failed records an error. A process that ends causes errors that show nothing.
func (f *Feeds) failed(ctx context.Context, kind string, err error) {
	if ctx.Err() != nil {
		return
	}
	f.record(kind, func(k *feed) {
		k.errors++
		k.err = err
		if k.failing.IsZero() {
			k.failing = f.clock.Now()
		}
	})
}

func (f *Feeds) record(kind string, change func(*feed)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.kinds[kind]
	if k == nil {
		k = &feed{heard: f.clock.Now()}
		f.kinds[kind] = k
	}
	change(k)
}

// Ready returns an error that names the first kind that this process cannot see: its first list is not complete, or has failed for
// BlindAfter. A kind that the cluster no longer serves has no objects, so nothing is missed. healthz.Checker is of this form.
func (f *Feeds) Ready(*http.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		switch k := f.kinds[kind]; {
		case k.isUnserved():
		case !k.failing.IsZero() && (!k.isComplete || now.Sub(k.failing) >= BlindAfter):
			return fmt.Errorf("%s: list or watch has failed for %s: %w", kind, now.Sub(k.failing).Round(time.Second), k.err)
		case !k.isComplete:
			return fmt.Errorf("%s: the first list is not complete yet", kind)
		}
	}
	return nil
}

func (k *feed) isUnserved() bool { return apierrors.IsNotFound(k.err) }
