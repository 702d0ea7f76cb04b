package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/logs"
)

// following is the course of a watch.
type following struct {
	mu sync.Mutex
	// changed is closed, and another one made, when something may have changed.
	changed chan struct{}
	// failed is why it is no use to watch on.
	failed error
	// say reports a broken connection to the user once, until it works again.
	say    func(string)
	broken bool
}

// watched is a job and its pods as a watch last showed them.
type watched struct {
	following
	namespace string
	pods      cache.Store
	job       *v1alpha1.TrainingJob
	gone      bool
}

// errGone ends a watch whose job was deleted.
var errGone = errors.New("the job was deleted while it was watched")

// watch follows a job and its pods until the context ends. It resumes broken connections and reports them through say. It returns an
// error if the caller may not watch.
func (c *connection) watch(ctx context.Context, job *v1alpha1.TrainingJob, say func(string)) (*watched, error) {
	w := &watched{namespace: job.Namespace, job: job, following: following{changed: make(chan struct{}), say: say}}
	jobs := c.lister(&v1alpha1.TrainingJobList{}, job.Namespace, &client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", job.Name)}, w.noteRequest)
	pods := c.lister(&corev1.PodList{}, job.Namespace, &client.ListOptions{LabelSelector: selectorOf(job)}, w.noteRequest)
	store, podInformer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: pods, ObjectType: &corev1.Pod{}, Handler: w.wakes()})
	w.pods = store
	_, jobInformer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: jobs, ObjectType: &v1alpha1.TrainingJob{}, Handler: w.onJob(job)})
	return w, w.begin(ctx, podInformer, jobInformer)
}

// syncPoll is how often to check whether a watch has begun.
const syncPoll = 20 * time.Millisecond

// begin runs the informers until the context ends, and waits until they show all objects. It returns an error if the caller may not watch.
func (f *following) begin(ctx context.Context, informers ...cache.Controller) error {
	for _, informer := range informers {
		go informer.RunWithContext(ctx)
	}
	for slices.ContainsFunc(informers, func(informer cache.Controller) bool { return !informer.HasSynced() }) {
		if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
			return err
		}
		wait(ctx, syncPoll)
	}
	return nil
}

// noteRequest takes into account how a request of the watch went.
func (f *following) noteRequest(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.broken = false
	case isForGood(err):
		f.failed = err
		f.notify()
	case !f.broken && isTrouble(err):
		f.broken = true
		f.say("The cluster does not answer (" + err.Error() + "); trying again.")
	}
}

// isForGood reports whether it is no use to watch on.
func isForGood(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || meta.IsNoMatchError(err)
}

// isTrouble reports whether the cluster did not answer; that a watch is too old is its ordinary end.
func isTrouble(err error) bool {
	return !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !errors.Is(err, context.Canceled)
}

func (f *following) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// wakes returns a handler that wakes those who wait for a change.
func (f *following) wakes() cache.ResourceEventHandler {
	wake := func(any) { f.change(func() {}) }
	return cache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(_, o any) { wake(o) }, DeleteFunc: wake}
}

// onJob keeps the job as it is now. Another job of its name is another job.
func (w *watched) onJob(first *v1alpha1.TrainingJob) cache.ResourceEventHandler {
	see := func(o any) {
		seen, isJob := o.(*v1alpha1.TrainingJob)
		if !isJob || seen.Name != first.Name {
			return
		}
		w.change(func() {
			if seen.UID == first.UID {
				w.job = seen
			} else {
				w.gone = true
			}
		})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, o any) { see(o) },
		DeleteFunc: func(o any) {
			if tombstone, is := o.(cache.DeletedFinalStateUnknown); is {
				o = tombstone.Obj
			}
			see(o) // its last words count
			w.change(func() { w.gone = true })
		},
	}
}

// change changes what was seen and wakes those who wait for that.
func (f *following) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.notify()
}

// notify wakes those who wait for a change. The caller holds the lock.
func (f *following) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// See returns the job and its pods as they are now, and a channel that is closed when that may have changed. What is returned is only
// read.
func (w *watched) See() (logs.Scene, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scene := logs.Scene{Job: w.job, Gone: w.gone}
	for _, o := range w.pods.List() {
		if pod, isPod := o.(*corev1.Pod); isPod {
			scene.Pods = append(scene.Pods, *pod)
		}
	}
	return scene, w.changed
}

// Pod returns the pod of that name and UID as it is now; nil if it is gone.
func (w *watched) Pod(name string, uid types.UID) *corev1.Pod {
	o, found, err := w.pods.GetByKey(w.namespace + "/" + name)
	pod, isPod := o.(*corev1.Pod)
	if err != nil || !found || !isPod || pod.UID != uid {
		return nil
	}
	return pod
}

// lister lists and watches objects through the connection; done receives the result of each request.
func (c *connection) lister(list client.ObjectList, namespace string, options *client.ListOptions, done func(error)) cache.ListerWatcher {
	options.Namespace = namespace
	with := func(raw metav1.ListOptions) *client.ListOptions {
		o := *options
		o.Raw = &raw
		return &o
	}
	return plainLister{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			o, isList := list.DeepCopyObject().(client.ObjectList)
			if !isList {
				return nil, fmt.Errorf("%T is no list", list)
			}
			err := c.kube.List(ctx, o, with(raw))
			done(err)
			return o, err
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			events, err := c.kube.Watch(ctx, list, with(raw))
			done(err)
			return events, err
		},
	}}
}

// plainLister lists before it watches: not every server sends the objects that there are as the beginning of a watch.
type plainLister struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported implements an interface of client-go.
func (plainLister) IsWatchListSemanticsUnSupported() bool { return true }

// each calls see at once, then after every change, and every pause, until see returns done or the context ends.
func (w *watched) each(ctx context.Context, pause time.Duration, see func(logs.Scene) (done bool, err error)) error {
	for {
		scene, changed := w.See()
		if done, err := see(scene); done || err != nil {
			return err
		}
		if err := w.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(pause):
		}
	}
}
