package cluster

import (
	"context"
	"fmt"
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

// look returns the snapshot of a job whose pods the cache lacks.
func (c *Cluster) look(t *testing.T, job *v1alpha1.TrainingJob) *state.Snapshot {
	t.Helper()
	o := &state.Observed{Now: c.clock.Now(), Job: job, HasService: true}
	c.addMemo(o)
	s, err := state.New(*o)
	if err != nil {
		t.Fatal(err)
	}
	c.remember(s)
	return s
}

// unlabelled returns a job whose workers have run, and an API server that has their pods, which the cache lacks: users removed the label.
func unlabelled(n int) (*v1alpha1.TrainingJob, *podServer) {
	job := builder.Job("j", builder.Workers(n), builder.StartedAt(0), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: fmt.Sprintf("0-%d", n-1)}))
	server := &podServer{pods: map[string]*corev1.Pod{}}
	for i := range n {
		pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{}, corev1.PodRunning)
		pod.OwnerReferences = controlled(job).OwnerReferences
		server.pods[pod.Name] = pod
	}
	return job, server
}

// A reconcile of a job whose pods lost the cache's label must not read each of them again. A tenant can have thousands of them,
// and can cause reconciles at will.
func TestAPodThatOnlyTheAPIServerShowsIsReadOnce(t *testing.T) {
	const n, passes = 20, 10
	job, server := unlabelled(n)
	c, clock := refusing()
	c.live = server
	pass := func() int {
		t.Helper()
		before := server.gets.Load()
		c.memo(job, func(m *jobMemo) { m.changed = nil })
		s := c.look(t, job)
		if _, err := c.Read(t.Context(), s, s.Reads()); err != nil {
			t.Fatal(err)
		}
		s = c.look(t, job)
		for r := range s.Replicas() {
			name := state.PodName(job.Name, r.Slot, r.Life)
			if pod := server.pods[name]; (pod == nil) != (r.State == state.Vanished) || s.Absent[name] != (pod == nil) {
				t.Fatalf("%s is %v, and absent: %t", name, r.State, s.Absent[name])
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
	want("after an own write", pass(), n-1)

	clock.SetTime(clock.Now().Add(foundFor))
	want("once the answers are old", pass(), n-1)
}

// A pod that has restarted in place has another life than its name: of a later one, the cache is old, and of an earlier one, the job misses its pod.
func TestAPodOfThatNameAndAnotherLifeIsNotTheMissingOne(t *testing.T) {
	for life, isStale := range map[string]bool{"7-0": true, "0-0": false} {
		job, server := unlabelled(1)
		job.Status.Attempt, job.Status.Memory.Roles[v1alpha1.Worker] = 1, v1alpha1.RoleMemory{Started: "0"}
		pod := server.pods["j-worker-0"]
		pod.Name = "j-worker-0-a1r0"
		pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: fmt.Sprintf(`{"life":%q,"from":"1-0","process":"containerd://a"}`, life)}
		server.pods = map[string]*corev1.Pod{pod.Name: pod}
		c, _ := refusing()
		c.live = server
		s := c.look(t, job)
		if _, err := c.Read(t.Context(), s, s.Reads()); apierrors.IsConflict(err) != isStale || (err != nil) != isStale {
			t.Errorf("life %s: error %v", life, err)
		}
		if s = c.look(t, job); !isStale && len(s.Reads().Confirm) > 0 {
			t.Errorf("life %s: it is confirmed again and again", life)
		}
	}
}

// An answer older than the latest watch event of the pod must not be kept: the pod may be gone.
func TestAnAnswerOlderThanTheWatchIsNotKept(t *testing.T) {
	job, server := unlabelled(1)
	c, _ := refusing()
	c.memo(job, func(m *jobMemo) { m.changed = nil })
	s := c.look(t, job)
	c.PodChanged(nil, server.pods["j-worker-0"])
	c.live = server
	if _, err := c.Read(t.Context(), s, s.Reads()); err != nil {
		t.Fatal(err)
	}
	delete(server.pods, "j-worker-0")
	if found, err := c.find(t.Context(), job, "j-worker-0"); found != nil || err != nil {
		t.Errorf("found %v, %v, want none: it is gone", found, err)
	}
}
