package fair_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainingjob/operator/pkg/operator/fair"
)

// passes are the reconciles of the workers. In a namespace that hangs they end when it is released.
type passes struct {
	queue interface {
		Get() (ctrl.Request, bool)
		Done(ctrl.Request)
	}
	hang map[string]chan struct{}

	mu     sync.Mutex
	begun  map[string]int
	passed []string
}

func (p *passes) work() {
	for {
		job, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		p.mu.Lock()
		p.begun[job.Namespace]++
		p.mu.Unlock()
		if letGo := p.hang[job.Namespace]; letGo != nil {
			<-letGo
		}
		p.mu.Lock()
		p.passed = append(p.passed, job.String())
		p.mu.Unlock()
		p.queue.Done(job)
	}
}

func jobOf(namespace string, i int) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("job-%d", i)}}
}

func TestANamespaceWhosePassesHangLeavesTheOthersWorkers(t *testing.T) {
	const workers, jobs = 64, 80
	synctest.Test(t, func(t *testing.T) {
		queue := fair.Queues(workers, new(atomic.Int64))("", workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, time.Minute))
		p := &passes{queue: queue, begun: map[string]int{}, hang: map[string]chan struct{}{"slow": make(chan struct{}), "slow-too": make(chan struct{})}}
		var all sync.WaitGroup
		for range workers {
			all.Go(p.work)
		}
		want := []string{jobOf("other", 0).String()}
		for _, namespace := range []string{"slow", "slow-too"} {
			for i := range jobs {
				queue.Add(jobOf(namespace, i))
				want = append(want, jobOf(namespace, i).String())
			}
			synctest.Wait()
		}
		if p.begun["slow"] != workers/2 || p.begun["slow-too"] != workers/4 {
			t.Errorf("workers of the namespaces that hang: %v, want a half and a quarter of %d", p.begun, workers)
		}
		queue.Add(jobOf("other", 0))
		queue.Add(jobOf("slow", jobs-1)) // an event for a waiting job
		synctest.Wait()
		if !slices.Equal(p.passed, want[:1]) {
			t.Errorf("passed are %v, want the other namespace's job", p.passed)
		}
		close(p.hang["slow"])
		close(p.hang["slow-too"])
		synctest.Wait()
		slices.Sort(p.passed)
		slices.Sort(want)
		if !slices.Equal(p.passed, want) {
			t.Errorf("passed are\n%v, want each job once:\n%v", p.passed, want)
		}
		queue.ShutDown()
		all.Wait()
	})
}

func TestJobsPutAsideGoOnInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int64
		queue := fair.Queues(2, &waiting)("", workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, time.Minute))
		p := &passes{queue: queue, begun: map[string]int{}, hang: map[string]chan struct{}{"a": make(chan struct{})}}
		var all sync.WaitGroup
		for range 2 {
			all.Go(p.work)
		}
		var want []string
		for i := range 5 {
			queue.Add(jobOf("a", i))
			want = append(want, jobOf("a", i).String())
			synctest.Wait()
		}
		if waiting.Load() != 4 {
			t.Errorf("%d jobs wait, want 4: their namespace has one of two workers", waiting.Load())
		}
		for range 5 {
			p.hang["a"] <- struct{}{}
			synctest.Wait()
		}
		if !slices.Equal(p.passed, want) {
			t.Errorf("passed are %v, want %v", p.passed, want)
		}
		if waiting.Load() != 0 {
			t.Errorf("%d jobs wait at the end", waiting.Load())
		}
		queue.ShutDown()
		all.Wait()
	})
}

func TestAWorkerAloneServesEveryNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := fair.Queues(1, new(atomic.Int64))("", workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, time.Minute))
		p := &passes{queue: queue, begun: map[string]int{}}
		var all sync.WaitGroup
		all.Go(p.work)
		for _, namespace := range []string{"a", "b", "c"} {
			queue.Add(jobOf(namespace, 0))
		}
		synctest.Wait()
		if len(p.passed) != 3 {
			t.Errorf("passed are %v, want 3", p.passed)
		}
		queue.ShutDown()
		all.Wait()
	})
}
