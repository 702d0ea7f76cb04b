package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// webhooks is a client whose creations call answer.
type webhooks struct {
	client.Client
	answer func(context.Context, client.Object) error

	mu      sync.Mutex
	created []string
}

func (w *webhooks) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	w.mu.Lock()
	w.created = append(w.created, o.GetNamespace()+"/"+o.GetName())
	w.mu.Unlock()
	return w.answer(ctx, o)
}

// Get returns the unchanged job.
func (w *webhooks) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	builder.Job("j").DeepCopyInto(o.(*v1alpha1.TrainingJob))
	return nil
}

func (w *webhooks) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.created)
}

func (w *webhooks) cluster() *Cluster {
	return New(w, nil, nil, clock.RealClock{}, Options{Parallel: Parallelism})
}

// jobIn returns a job in the namespace, and the steps that create its pods.
func jobIn(namespace string, workers int) (*v1alpha1.TrainingJob, []plan.Step) {
	job := builder.Job("j", builder.Workers(workers))
	job.Namespace = namespace
	var steps []plan.Step
	for i := range workers {
		steps = append(steps, plan.CreatePod{Name: fmt.Sprintf("j-worker-%d", i), Slot: state.Slot{Role: v1alpha1.Worker, Index: i}, Placement: &plan.Placement{}})
	}
	return job, steps
}

func TestANamespaceWhoseWritesHangLeavesTheOthersTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		webhookAnswers := make(chan struct{})
		server := &webhooks{answer: func(_ context.Context, o client.Object) error {
			if o.GetNamespace() == "slow" {
				<-webhookAnswers
			}
			return nil
		}}
		c := server.cluster()
		var slow sync.WaitGroup
		for range 4 {
			job, steps := jobIn("slow", 100)
			slow.Go(func() { _ = c.Act(t.Context(), job, steps) })
		}
		synctest.Wait()
		if n := server.count(); n != Parallelism/4 {
			t.Errorf("the slow namespace has %d writes under way, want %d", n, Parallelism/4)
		}
		job, steps := jobIn("other", 2)
		done := false
		var other sync.WaitGroup
		other.Go(func() { done = c.Act(t.Context(), job, steps) == nil })
		synctest.Wait()
		if !done {
			t.Error("the other namespace's pods wait for those of the slow one")
		}
		close(webhookAnswers)
		other.Wait()
		slow.Wait()
		if n := server.count(); n != 402 {
			t.Errorf("%d pods were created, want 402", n)
		}
	})
}

// The pod of a small job waits for the writes under way, and for one more in each slot of a large job, not for all of its pods.
func TestASmallJobWaitsForNoLargeOneOfItsNamespace(t *testing.T) {
	const write = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		server := &webhooks{answer: func(context.Context, client.Object) error {
			time.Sleep(write)
			return nil
		}}
		c := server.cluster()
		var large sync.WaitGroup
		for range 4 {
			job, steps := jobIn("team", 1000)
			large.Go(func() { _ = c.Act(t.Context(), job, steps) })
		}
		time.Sleep(10 * write)
		small, steps := jobIn("team", 1)
		begin := time.Now()
		if err := c.Act(t.Context(), small, steps); err != nil {
			t.Fatal(err)
		}
		if waited, most := time.Since(begin), 6*write; waited > most {
			t.Errorf("the small job's pod was there after %v, when %d of 4,000 others were; want at most %v", waited, server.count()-1, most)
		}
		large.Wait()
	})
}

// An abandoned write may still succeed, and no reconcile would wait for the cache to show it.
func TestAFailedStepEndsNoWriteUnderWayAndBeginsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse, finish := make(chan struct{}), make(chan struct{})
		givenUp := false
		server := &webhooks{answer: func(ctx context.Context, o client.Object) error {
			if o.GetName() == "j-worker-0" {
				<-refuse
				return apierrors.NewServerTimeout(pods, "create", 1)
			}
			select {
			case <-ctx.Done():
				givenUp = true
			case <-finish:
				o.(*corev1.Pod).UID = "made"
			}
			return ctx.Err()
		}}
		c := server.cluster()
		job, steps := jobIn("a", 100)
		var act sync.WaitGroup
		act.Go(func() { _ = c.Act(t.Context(), job, steps) })
		synctest.Wait()
		begun := server.count()
		close(refuse)
		synctest.Wait()
		close(finish)
		act.Wait()
		if n := server.count(); n != begun || givenUp {
			t.Errorf("%d writes begun before the failure, %d in all, one given up: %t", begun, n, givenUp)
		}
		if c.memo(job, nil).pendingWrites == nil {
			t.Error("the pods that were created are not noted")
		}
	})
}
