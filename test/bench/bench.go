package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

const (
	// benchLabel marks everything that the bench makes.
	benchLabel = "bench.trainingjob.dev/made"
	// patience bounds one measurement, or one round of several.
	patience = 5 * time.Minute
)

// bench makes pods and watches them come to run.
type bench struct {
	options
	client client.WithWatch
	// turn counts what is measured, where names must differ: what plays the nodes may still take a pod of before off.
	turn int
}

// another returns a number for a name that was not used before.
func (b *bench) another() int {
	b.turn++
	return b.turn
}

// result is one measurement.
type result struct {
	// rate is in pods per second.
	rate float64
	// operator is what the operator spent; nil if unknown.
	operator *spending
}

func newBench(o options) (*bench, error) {
	if o.kubeconfig == "" {
		return nil, errors.New("no cluster: set --kubeconfig or KUBECONFIG, for example after make lab NODES=160")
	}
	c, err := testbed.Connect(o.kubeconfig, "trainingjob-bench")
	if err != nil {
		return nil, err
	}
	return &bench{options: o, client: c}, nil
}

// measure makes the shape's pods in one way, waits until all run, and cleans up.
func (b *bench) measure(ctx context.Context, m maker, s shape) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	running, err := b.watchRunning(ctx)
	if err != nil {
		return result{}, fmt.Errorf("watching pods: %w", err)
	}
	defer running.Stop()
	before, err := b.spent(ctx)
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	if err := m.make(ctx, b, s); err != nil {
		return result{}, fmt.Errorf("submitting: %w", err)
	}
	if err := awaitRunning(ctx, running, s.jobs*s.pods); err != nil {
		return result{}, err
	}
	r := result{rate: float64(s.jobs*s.pods) / time.Since(start).Seconds()}
	if before != nil && m.isOurs {
		after, err := b.spentWhenQuiet(ctx)
		if err != nil {
			return result{}, err
		}
		r.operator = after.since(before)
	}
	return r, b.cleanUp(ctx, m)
}

// watchRunning watches pods that come to run.
func (b *bench) watchRunning(ctx context.Context) (watch.Interface, error) {
	made := []client.ListOption{client.InNamespace(b.namespace), client.MatchingLabels{benchLabel: "pod"},
		client.MatchingFields{"status.phase": string(corev1.PodRunning)}}
	now := podMetadata()
	if err := b.client.List(ctx, now, made...); err != nil {
		return nil, err
	}
	return b.watchOn(ctx, podMetadata(), now.ResourceVersion, made...)
}

// watchOn watches what is in such lists after the version; it goes on when the API server ends the watch.
func (b *bench) watchOn(ctx context.Context, list client.ObjectList, version string, of ...client.ListOption) (watch.Interface, error) {
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return b.client.Watch(ctx, list, append(slices.Clone(of), &client.ListOptions{Raw: &o})...)
		},
	})
	if err != nil {
		return nil, err
	}
	return keptOf(ctx, changes), nil
}

// eventsKept is how many events of a watch wait at most until they are read.
const eventsKept = 1 << 16

// kept is a watch whose events wait until they are read, as while pods are still being created: one that nobody reads is ended by the API server.
type kept struct {
	watch.Interface
	events chan watch.Event
}

// keptOf reads the watch from now on.
func keptOf(ctx context.Context, w watch.Interface) kept {
	k := kept{w, make(chan watch.Event, eventsKept)}
	go k.keep(ctx)
	return k
}

func (k kept) ResultChan() <-chan watch.Event { return k.events }

// keep reads the events until the watch ends.
func (k kept) keep(ctx context.Context) {
	defer close(k.events)
	for e := range k.Interface.ResultChan() {
		select {
		case k.events <- e:
		case <-ctx.Done():
			return
		}
	}
}

// awaitRunning waits until so many different pods have come to run.
func awaitRunning(ctx context.Context, running watch.Interface, pods int) error {
	seen := map[string]bool{}
	for len(seen) < pods {
		select {
		case e, open := <-running.ResultChan():
			if !open {
				return errors.New("the API server ended the watch")
			}
			switch e.Type {
			case watch.Error:
				return fmt.Errorf("watching pods: %w", apierrors.FromObject(e.Object))
			case watch.Added:
				if pod, ok := e.Object.(metav1.Object); ok {
					seen[string(pod.GetUID())] = true
				}
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods run: %w", len(seen), pods, ctx.Err())
		}
	}
	return nil
}

// cleanUp deletes what the maker made and waits until no pod is left. Thousands take the API server longer than it gives a request, and how it
// then ends that differs.
func (b *bench) cleanUp(ctx context.Context, m maker) error {
	for _, kind := range m.kinds {
		var last error
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			last = b.client.DeleteAllOf(ctx, kind, client.InNamespace(b.namespace), client.HasLabels{benchLabel},
				client.PropagationPolicy(metav1.DeletePropagationBackground))
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("cleaning up: %w", errors.Join(err, last))
		}
	}
	return b.noneLeft(ctx, 500*time.Millisecond)
}

func podMetadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "PodList"})
	return list
}
