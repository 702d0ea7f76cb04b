//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// history is every version of every job and pod of a namespace, from the watch stream.
type history struct {
	stop    context.CancelFunc
	streams sync.WaitGroup

	mu   sync.Mutex
	seen []ledger.Observation
	lost []string
}

// watchHistory begins the history of a namespace that is still empty.
func watchHistory(namespace string) *history {
	ctx, stop := context.WithCancel(context.Background())
	h := &history{stop: stop}
	for _, list := range []client.ObjectList{&v1alpha1.TrainingJobList{}, &corev1.PodList{}} {
		Expect(kube.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		watcher := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return kube.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &options})
		}}
		// A busy API server ends watches; this one goes on from where it was.
		stream, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), watcher)
		Expect(err).NotTo(HaveOccurred())
		h.streams.Go(func() { h.follow(ctx, stream) })
	}
	DeferCleanup(stop)
	return h
}

func (h *history) follow(ctx context.Context, stream watch.Interface) {
	for event := range stream.ResultChan() {
		if ctx.Err() != nil {
			return
		}
		h.add(event)
	}
	if ctx.Err() == nil {
		h.lose("the API server ended the watch")
	}
}

func (h *history) add(event watch.Event) {
	o := ledger.Observation{Event: event.Type, At: time.Now()}
	var version string
	switch object := event.Object.(type) {
	case *v1alpha1.TrainingJob:
		o.Job, version = object, object.ResourceVersion
	case *corev1.Pod:
		o.Pod, version = object, object.ResourceVersion
	default:
		h.lose(fmt.Sprintf("the watch brought %T: %v", event.Object, event.Object))
		return
	}
	var err error
	if o.Revision, err = strconv.ParseUint(version, 10, 64); err != nil {
		h.lose(err.Error())
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, o)
}

func (h *history) lose(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, why)
}

// sorted returns what was seen so far, in the order in which it happened.
func (h *history) sorted() []ledger.Observation {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := slices.Clone(h.seen)
	slices.SortStableFunc(seen, func(a, b ledger.Observation) int {
		if a.Revision < b.Revision {
			return -1
		}
		return 1
	})
	return seen
}

// end ends the history and returns it, and what of it was lost.
func (h *history) end() (all []ledger.Observation, lost []string) {
	h.stop()
	h.streams.Wait()
	return h.sorted(), h.lost
}

// versions returns every version of the job of that name so far.
func (h *history) versions(name string) []*v1alpha1.TrainingJob {
	var found []*v1alpha1.TrainingJob
	for _, o := range h.sorted() {
		if o.Job != nil && o.Job.Name == name {
			found = append(found, o.Job)
		}
	}
	return found
}

// created waits until so many pods have been created, which must be all that were when the spec ends.
func (p *place) created(want int) {
	GinkgoHelper()
	p.holds("pods created in "+p.namespace, want, p.history.creations)
}

// creations returns the names of all pods that were created so far.
func (h *history) creations() (names []string) {
	for _, o := range h.sorted() {
		if o.Pod != nil && o.Event == watch.Added {
			names = append(names, o.Pod.Name)
		}
	}
	return names
}

// first returns the first ledger.Observation of a pod of which that is true; the zero value if there is none.
func (h *history) first(is func(pod *corev1.Pod, event watch.EventType) bool) ledger.Observation {
	for _, o := range h.sorted() {
		if o.Pod != nil && is(o.Pod, o.Event) {
			return o
		}
	}
	return ledger.Observation{}
}

// await waits for the first version of a pod of which that is true: what a read of the cluster shows, the watch may bring later.
func (h *history) await(what string, is func(pod *corev1.Pod, event watch.EventType) bool) ledger.Observation {
	GinkgoHelper()
	Eventually(func() *corev1.Pod { return h.first(is).Pod }).ShouldNot(BeNil(), what)
	return h.first(is)
}

// creation returns the revision at which the pod of that name was created.
func (h *history) creation(name string) uint64 {
	GinkgoHelper()
	return h.await(name+" is created", func(p *corev1.Pod, event watch.EventType) bool { return p.Name == name && event == watch.Added }).Revision
}

// fencing returns the revision at which the pod was taken out of its Service.
func (h *history) fencing(uid types.UID) uint64 {
	GinkgoHelper()
	return h.await("the pod is taken out of the Service", func(p *corev1.Pod, _ watch.EventType) bool { return p.UID == uid && ledger.IsFenced(p) }).Revision
}

// ending returns when deletion of the pod was asked for, by the API server's clock, and when the watch told that it was gone.
func (h *history) ending(uid types.UID) (asked, gone time.Time) {
	GinkgoHelper()
	p := h.asked(uid)
	asked = p.DeletionTimestamp.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
	return asked, h.await("the pod is gone", func(p *corev1.Pod, event watch.EventType) bool { return p.UID == uid && event == watch.Deleted }).At
}

// asked returns the first version of the pod in which its deletion is asked for.
func (h *history) asked(uid types.UID) *corev1.Pod {
	GinkgoHelper()
	is := func(p *corev1.Pod, _ watch.EventType) bool { return p.UID == uid && p.DeletionTimestamp != nil }
	return h.await("deletion of the pod is asked for", is).Pod
}
