// Package fair shares the workers of a controller, and the slots of requests, between namespaces.
package fair

import (
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// queue shares the workers between namespaces. A job gets a worker if its namespace has fewer workers than are free. So a
// namespace whose reconciles hang, for example because of its own webhook, holds half of the workers, a second one a quarter, and
// the others use the rest. Other jobs are set aside until a reconcile ends, first come, first served.
type queue struct {
	priorityqueue.PriorityQueue[ctrl.Request]

	// waiting is how many jobs are set aside.
	waiting *atomic.Int64

	mu   sync.Mutex
	free int
	busy map[string]int
	// aside are the jobs that wait for a worker, in their order. isAside is their set. admitted are the jobs with a reserved
	// worker that are on their way to it.
	aside    []waiting
	isAside  map[ctrl.Request]bool
	admitted map[ctrl.Request]bool
}

type waiting struct {
	job      ctrl.Request
	priority int
}

func newQueue(inner priorityqueue.PriorityQueue[ctrl.Request], workers int, waiting *atomic.Int64) *queue {
	return &queue{PriorityQueue: inner, waiting: waiting, free: workers, busy: map[string]int{}, isAside: map[ctrl.Request]bool{}, admitted: map[ctrl.Request]bool{}}
}

// Queues makes the queue of a controller with so many workers. It counts in waiting how many jobs wait for their namespace's
// share.
func Queues(workers int, waiting *atomic.Int64) func(string, workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
		return newQueue(priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) { o.RateLimiter = limiter }), workers, waiting)
	}
}

// Get waits for a job whose namespace may have a worker.
func (q *queue) Get() (job ctrl.Request, shutdown bool) {
	job, _, shutdown = q.GetWithPriority()
	return job, shutdown
}

// GetWithPriority is Get, and also returns the job's priority.
func (q *queue) GetWithPriority() (job ctrl.Request, priority int, shutdown bool) {
	for {
		job, priority, shutdown = q.PriorityQueue.GetWithPriority()
		if shutdown || q.admits(job, priority) {
			return job, priority, shutdown
		}
		q.PriorityQueue.Done(job)
	}
}

// Done frees the worker of the job, and gives it to waiting jobs.
func (q *queue) Done(job ctrl.Request) {
	q.PriorityQueue.Done(job)
	for _, next := range q.release(job.Namespace) {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &next.priority}, next.job)
	}
}

// admits reports whether the job has a worker. If not, it sets the job aside.
func (q *queue) admits(job ctrl.Request, priority int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.admitted[job]:
		delete(q.admitted, job)
		return true
	case q.isAside[job]:
		return false
	case q.reserve(job.Namespace):
		return true
	default:
		q.isAside[job] = true
		q.aside = append(q.aside, waiting{job, priority})
		q.waiting.Add(1)
		return false
	}
}

// release frees a worker of the namespace and returns the jobs that got one.
func (q *queue) release(namespace string) (next []waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	if q.busy[namespace]--; q.busy[namespace] == 0 {
		delete(q.busy, namespace)
	}
	q.aside = slices.DeleteFunc(q.aside, func(w waiting) bool {
		if !q.reserve(w.job.Namespace) {
			return false
		}
		delete(q.isAside, w.job)
		q.waiting.Add(-1)
		q.admitted[w.job] = true
		next = append(next, w)
		return true
	})
	return next
}

// reserve takes a worker for the namespace if it may have one more.
func (q *queue) reserve(namespace string) bool {
	if q.busy[namespace] >= q.free {
		return false
	}
	q.busy[namespace]++
	q.free--
	return true
}
