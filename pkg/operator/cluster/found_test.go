package cluster

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// podServer is an API server with pods that counts the reads.
type podServer struct {
	client.Reader
	pods map[string]*corev1.Pod
	gets atomic.Int32
}

func (s *podServer) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.gets.Add(1)
	pod := s.pods[key.Name]
	if pod == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
	}
	pod.DeepCopyInto(o.(*corev1.Pod))
	return nil
}

// deleter is an API server that accepts every deletion.
type deleter struct{ client.Client }

func (deleter) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

// unlabelled returns a job, a snapshot whose cache lacks its pods, and an API server that has them: users removed the label.
func unlabelled(n int) (*v1alpha1.TrainingJob, *state.Snapshot, *podServer) {
	job := builder.Job("j", builder.Workers(n), builder.StartedAt(0))
	server, options := &podServer{pods: map[string]*corev1.Pod{}}, []builder.SnapshotOption{}
	for i := range n {
		pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{}, corev1.PodRunning)
		pod.OwnerReferences = controlled(job).OwnerReferences
		server.pods[pod.Name] = pod
		options = append(options, builder.Gone("worker", i))
	}
	return job, builder.Snapshot(job, options...), server
}

// A reconcile of a job whose pods lost the cache's label must not read each of them again. A tenant can have thousands of them,
// and can cause reconciles at will.
func TestAPodThatOnlyTheAPIServerShowsIsReadOnce(t *testing.T) {
	const n, passes = 20, 10
	job, s, server := unlabelled(n)
	c, clock := refusing()
	c.live = server
	pass := func() int {
		t.Helper()
		before := server.gets.Load()
		c.memo(job, func(m *jobMemo) { m.changed = nil })
		got, err := c.confirmVanished(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for r := range got.Replicas() {
			name := state.PodName(job.Name, r.Slot, r.Life)
			if pod := server.pods[name]; (pod == nil) != (r.State == state.Vanished) {
				t.Fatalf("%s is %v", name, r.State)
			}
		}
		return int(server.gets.Load() - before)
	}
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d reads, want %d", what, got, want)
		}
	}
	all := 0
	for range passes {
		all += pass()
	}
	want("repeated passes", all, n)

	gone := server.pods["j-worker-3"]
	delete(server.pods, gone.Name)
	c.PodChanged(gone, nil)
	want("the watch reports one", pass(), 1)

	c.client = deleter{}
	if err := c.Act(t.Context(), job, []plan.Step{plan.DeletePod{Name: "j-worker-4"}}); err != nil {
		t.Fatal(err)
	}
	want("after an own write", pass(), n)

	clock.SetTime(clock.Now().Add(foundFor))
	want("once the answers are old", pass(), n)
}

// An answer older than the latest watch event of the pod must not be kept: the pod may be gone.
func TestAnAnswerOlderThanTheWatchIsNotKept(t *testing.T) {
	job, s, server := unlabelled(1)
	c, _ := refusing()
	c.memo(job, func(m *jobMemo) { m.changed = nil })
	c.PodChanged(nil, server.pods["j-worker-0"])
	c.live = server
	if _, err := c.confirmVanished(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	delete(server.pods, "j-worker-0")
	if found, err := c.find(t.Context(), job, "j-worker-0"); found != nil || err != nil {
		t.Errorf("found %v, %v, want none: it is gone", found, err)
	}
}

// A namespace whose reads hang leaves slots to the others.
func TestReadsAreSharedOutByNamespace(t *testing.T) {
	started, end := make(chan struct{}, 100), make(chan struct{})
	hanging := &hangingReader{started, end}
	r := fairReader{hanging, newSlots(8)}
	for range 20 {
		go func() {
			_ = r.Get(context.Background(), client.ObjectKey{Namespace: "greedy", Name: "p"}, &corev1.Pod{})
		}()
	}
	for range 8 / shares {
		<-started
	}
	go func() { _ = r.List(context.Background(), &corev1.PodList{}, client.InNamespace("modest")) }()
	<-started
	if n := len(started); n > 0 {
		t.Errorf("%d more reads of one namespace are under way than its share", n)
	}
	close(end)
}

type hangingReader struct{ started, end chan struct{} }

func (r *hangingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	r.started <- struct{}{}
	<-r.end
	return nil
}

func (r *hangingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return r.Get(context.Background(), client.ObjectKey{}, nil)
}
