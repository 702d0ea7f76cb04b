package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/transcript"
	"github.com/trainingjob/operator/test/sim/world"
)

// step is what happens to a pod of the simulation.
type step func(*world.World, *corev1.Pod)

func exits(code int32) step { return func(w *world.World, pod *corev1.Pod) { w.Exit(pod, code, "") } }

func isDeleted(w *world.World, pod *corev1.Pod) { w.DeletePod(world.User, pod) }

// faults are what was recorded of a pod, and the same done to one of the simulation. A step is taken as soon as the one before it
// shows, or a while after it.
var faults = []struct {
	file, pod string
	// prepare changes the world or the pod before it is created.
	prepare func(*world.World, *corev1.Pod)
	steps   []step
}{
	{file: "torch-exit-00", pod: "worker-1", steps: []step{exits(42), isDeleted}},
	{file: "shell-127", pod: "worker-1", steps: []step{exits(127), isDeleted}},
	{file: "succeeds", pod: "worker-0", steps: []step{exits(0), later, isDeleted}},
	{file: "deleted-by-hand", pod: "worker-1", steps: []step{isDeleted}},
	{file: "drained", pod: "master-0", steps: []step{func(w *world.World, pod *corev1.Pod) { w.Drain(world.User, pod, "EvictionByEvictionAPI") }}},
	{file: "storage-evicted", pod: "worker-0", steps: []step{func(w *world.World, pod *corev1.Pod) { w.Evict(pod) }, later, isDeleted}},
	{file: "evicted-busy-06", pod: "worker-0", steps: []step{func(w *world.World, pod *corev1.Pod) { w.EvictInTwo(pod) }}},
	{file: "evicted-busy-07", pod: "worker-0", steps: []step{func(w *world.World, pod *corev1.Pod) { w.EvictInTwo(pod) }},
		prepare: func(w *world.World, _ *corev1.Pod) { w.Chance, w.Habits.Forgetful = rand.New(rand.NewPCG(1, 1)), 1 }},
	{file: "evicted-for-node", pod: "worker-1", steps: []step{func(w *world.World, pod *corev1.Pod) { w.EvictForNode(pod) }},
		prepare: func(w *world.World, _ *corev1.Pod) { w.Chance, w.Habits.Forgetful = rand.New(rand.NewPCG(1, 1)), 1 }},
	{file: "evicted-at-start-01", pod: "worker-1", steps: []step{func(w *world.World, pod *corev1.Pod) { w.EvictAtStart(pod.Spec.NodeName) }}},
	{file: "rebooted", pod: "worker-0", steps: []step{func(w *world.World, pod *corev1.Pod) { w.Reboot(pod.Spec.NodeName) }}},
	{file: "no-such-command", pod: "worker-0", steps: []step{later, isDeleted}, prepare: func(w *world.World, pod *corev1.Pod) {
		w.Unstartable[pod.Spec.Hostname] = true
	}},
	{file: "image-missing", pod: "worker-0", steps: []step{isDeleted}, prepare: func(w *world.World, pod *corev1.Pod) {
		w.NoImage[pod.Spec.Hostname] = true
	}},
	{file: "init-fails", pod: "worker-0", steps: []step{later, isDeleted}, prepare: func(w *world.World, pod *corev1.Pod) {
		w.Unstartable[pod.Spec.Hostname] = true
		pod.Spec.InitContainers = []corev1.Container{{Name: "prep"}}
	}},
}

// later lets time pass.
func later(w *world.World, _ *corev1.Pod) {
	for range 10 {
		w.Tick(500 * time.Millisecond)
	}
}

// TestKubelet compares what the simulation's kubelet says of a pod with what a real one said when the same happened.
func TestKubelet(t *testing.T) {
	for i := range faults {
		f := &faults[i]
		t.Run(f.file, func(t *testing.T) {
			incident, err := transcript.Read("testdata/" + f.file + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			var recorded story
			for n := range incident.Versions {
				v := &incident.Versions[n]
				if v.Who != f.pod {
					continue
				}
				pod, err := v.Pod(builder.Job("j"))
				if err != nil {
					t.Fatal(err)
				}
				recorded.add(v.At, pod)
			}
			w, pod, simulated := newPod(f.prepare)
			for _, step := range f.steps {
				step(w, w.Server.Get(server.Pods, pod.Namespace, pod.Name).(*corev1.Pod))
			}
			later(w, nil)
			if diff := cmp.Diff(recorded.words, simulated.words); diff != "" {
				t.Errorf("(-recorded +simulated):\n%s", diff)
			}
			if took, real := simulated.closing, recorded.closing; (took == 0) != (real == 0) || took > 3*time.Second || real > 3*time.Second {
				t.Errorf("the pod is reported as ended %v after its container, a real one after %v", took, real)
			}
		})
	}
}

// The controller manager marks the pods of a silent node as not ready; the kubelet that is back says that they are (test/nodes).
func TestAPodIsReadyAgainWhenItsNodeIsBack(t *testing.T) {
	w, pod, _ := newPod(nil)
	now := func() *corev1.Pod { return w.Server.Get(server.Pods, pod.Namespace, pod.Name).(*corev1.Pod) }
	isReady := func() bool {
		return slices.ContainsFunc(now().Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}
	if !isReady() {
		t.Fatal("it should be ready at first")
	}
	if w.FailNode(now().Spec.NodeName); isReady() {
		t.Error("ready while its node is silent")
	}
	if w.ReviveNode(now().Spec.NodeName); !isReady() {
		t.Error("not ready though its node is back")
	}
}

// newPod returns a world with one pod, which runs unless something keeps it from that, and its story.
func newPod(prepare func(*world.World, *corev1.Pod)) (*world.World, *corev1.Pod, *story) {
	w, told := world.New(), &story{}
	w.Key = client.ObjectKey{Namespace: "team-a", Name: "j"}
	w.Server.Watch(func(c *server.Change) {
		if pod, isPod := c.Is.(*corev1.Pod); isPod {
			told.add(w.Clock.Elapsed(), pod)
		}
	})
	var created *corev1.Pod
	w.CreatePod("j-worker-0", func(pod *corev1.Pod) {
		pod.Spec.Hostname = pod.Name
		pod.Spec.Containers = []corev1.Container{{Name: "main"}}
		if prepare != nil {
			prepare(w, pod)
		}
		created = pod
	})
	for range 6 {
		w.Tick(500 * time.Millisecond)
	}
	return w, created, told
}

// story is what a kubelet said of one pod, without what says nothing new of its end.
type story struct {
	words []string
	// ended is when the container was said to have ended, and closing how much later the pod was.
	ended, closing time.Duration
}

func (s *story) add(at time.Duration, pod *corev1.Pod) {
	words := []string{string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		words = append(words, "of "+pod.Status.Reason)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			words = append(words, "taken by "+c.Reason)
		}
	}
	if pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) == 0 {
		words = append(words, "containers unknown")
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if before := c.LastTerminationState.Terminated; before != nil {
			words = append(words, fmt.Sprintf("%s exited %d %s before", c.Name, before.ExitCode, before.Reason))
		}
		if end := c.State.Terminated; end != nil {
			words = append(words, fmt.Sprintf("%s exited %d %s, at a known time %t", c.Name, end.ExitCode, end.Reason, !end.FinishedAt.IsZero()))
		}
	}
	switch {
	case pod.DeletionTimestamp == nil:
	case ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0:
		words = append(words, "goes")
	default:
		words = append(words, "told to end")
	}
	text := strings.Join(words, ", ")
	if text == "Pending" || slices.Contains(s.words, text) {
		return
	}
	switch isOver := world.IsOver(pod); {
	case !isOver && s.ended == 0 && strings.Contains(text, "exited"):
		s.ended = at
	case isOver && s.ended != 0 && s.closing == 0:
		s.closing = at - s.ended
	}
	s.words = append(s.words, text)
}
