package cluster

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

const sameBytes = "docker.io/library/train:life-1-0@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// One patch restarts a pod in place. It fails if the pod has changed meanwhile. If the API server refuses it, it is not tried
// again.
func TestAPodIsRestartedInPlaceByOnePatch(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace }))
	for name, c := range map[string]struct {
		version  string
		refuse   error
		conflict bool
		image    string
		refused  []types.UID
	}{
		"unchanged":           {image: sameBytes},
		"changed since":       {version: "1", conflict: true},
		"an admission policy": {refuse: apierrors.NewForbidden(corev1.Resource("pods"), "j-worker-0", errors.New("images are frozen")), conflict: true, image: "", refused: []types.UID{"uid-1"}},
		// the answer of an API server that has just started and has not read the roles yet
		"the operator may not": {refuse: apierrors.NewForbidden(corev1.Resource("pods"), "j-worker-0",
			errors.New(`User "system:serviceaccount:s:o" cannot patch resource "pods" in API group "" in the namespace "n"`))},
	} {
		api := server.New(clock.RealClock{})
		user := api.Client("test")
		pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning)
		pod.UID, pod.ResourceVersion = "", ""
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "logs", Image: "logs"})
		if err := user.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		api.Admit = func(*server.Request) error { return c.refuse }
		step := plan.RestartPod{
			Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Container: "main", Image: sameBytes, Port: 29501, Number: "1000000",
			Told: state.Told{Life: state.Life{Attempt: 1}, Process: "containerd://a"},
		}
		if c.version != "" {
			step.Version = c.version
		}
		cluster := New(user, user, nil, clock.RealClock{}, Options{Parallel: 1})
		if err := cluster.Act(t.Context(), job, []plan.Step{step}); apierrors.IsConflict(err) != c.conflict || (err != nil) != c.conflict {
			t.Errorf("%s: error %v", name, err)
		}
		var got corev1.Pod
		if err := user.Get(t.Context(), client.ObjectKeyFromObject(pod), &got); err != nil {
			t.Fatal(err)
		}
		want := pod.DeepCopy()
		if want.Spec.Containers[0].Image = c.image; c.image == sameBytes {
			want.Labels[v1alpha1.LabelAttempt], want.Labels[v1alpha1.LabelLife] = "1", "1-0"
			want.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: step.Told.String(), v1alpha1.AnnotationLeaderPort: "29501", v1alpha1.AnnotationLifeNumber: "1000000"}
		}
		if diff := cmp.Diff(want.Spec, got.Spec) + cmp.Diff(want.Labels, got.Labels) + cmp.Diff(want.Annotations, got.Annotations); diff != "" {
			t.Errorf("%s: the pod (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.refused, slices.Collect(maps.Keys(cluster.memo(job, nil).unrestartable))); diff != "" {
			t.Errorf("%s: what is not tried again (-want +got):\n%s", name, diff)
		}
	}
}

// The trimming keeps what shows whether a pod has begun its assigned life. Other pods do not keep it.
func TestATrimmedPodTellsOfItsProcess(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	full := controlled(job)
	full.Spec.Containers[0].Image = "train:v1"
	full.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://a", ImageID: "docker.io/library/train@sha256:1"}}
	if got := trimmed(t, full).Status.ContainerStatuses[0]; got.ContainerID != "" || got.ImageID != "" {
		t.Errorf("of a pod that is never restarted in place: %+v", got)
	}
	full.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"0-0"}`}
	got := trimmed(t, full)
	if c := got.Status.ContainerStatuses[0]; c.ContainerID != "containerd://a" || c.ImageID != "docker.io/library/train@sha256:1" || got.Spec.Containers[0].Image != "train:v1" {
		t.Errorf("of a pod that can be: %+v, image %q", c, got.Spec.Containers[0].Image)
	}
}

// A new leader may have the present status and old pods in its cache: a pod that has restarted since is not lost.
func TestAPodThatHasRestartedSinceHasNotVanished(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Attempt(1), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0"}))
	runs := func(told, process string) *corev1.Pod {
		return builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning, builder.Edit(func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: told}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: process}}
		}))
	}
	first := runs(`{"life":"0-0"}`, "containerd://a")
	pending := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodPending)
	restarted := runs(`{"life":"1-0","from":"0-0","process":"containerd://a"}`, "containerd://b")
	for name, c := range map[string]struct {
		cached, live *corev1.Pod
		stale        bool
	}{
		"it has restarted":                 {first, restarted, true},
		"it has since it was seen pending": {pending, restarted, true},
		"it has not changed":               {first, first, false},
		"it ended on the way":              {first, runs(`{"life":"2-0","from":"0-0","process":"containerd://a"}`, "containerd://a"), false},
	} {
		api := server.New(clock.RealClock{}).Client("test")
		live, is := c.live.DeepCopy(), c.live.Status
		live.UID, live.ResourceVersion, live.OwnerReferences = "", "", controlled(job).OwnerReferences
		if err := api.Create(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		live.Status = is
		if err := api.Status().Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		seen, _ := state.PodOf("j", c.cached)
		seen.UID = live.UID
		s := builder.Snapshot(job, func(o *state.Observed) { o.Pods = []state.Pod{seen} })
		s.Absent = nil
		_, err := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1}).Read(t.Context(), s, s.Reads())
		if apierrors.IsConflict(err) != c.stale || (err != nil) != c.stale {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The gate of a pod, and how long it may be active, are set by one patch each, which changes nothing else. A pod that has changed since is left alone if the
// step names a version.
func TestThePatchesOfAGate(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	for name, c := range map[string]struct {
		step func(pod *corev1.Pod) plan.Step
		want func(pod *corev1.Pod)
	}{
		"close": {func(pod *corev1.Pod) plan.Step {
			return plan.SetGate{Name: pod.Name, UID: pod.UID, Value: v1alpha1.GateClosed}
		},
			func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationStartGate: "../closed"} }},
		"open": {func(pod *corev1.Pod) plan.Step {
			return plan.SetGate{Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Value: v1alpha1.GateOpen}
		}, func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationStartGate: "open"} }},
		"open one that has changed": {func(pod *corev1.Pod) plan.Step {
			return plan.SetGate{Name: pod.Name, UID: pod.UID, Version: "1", Value: v1alpha1.GateOpen}
		}, nil},
		"close another one": {func(pod *corev1.Pod) plan.Step {
			return plan.SetGate{Name: pod.Name, UID: "another", Value: v1alpha1.GateClosed}
		}, nil},
		"end": {func(pod *corev1.Pod) plan.Step {
			return plan.EndPod{Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion}
		},
			func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) }},
		"end one that has changed": {func(pod *corev1.Pod) plan.Step { return plan.EndPod{Name: pod.Name, UID: pod.UID, Version: "1"} }, nil},
	} {
		api := server.New(clock.RealClock{})
		user := api.Client("test")
		pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning)
		pod.UID, pod.ResourceVersion, pod.Annotations = "", "", nil
		if err := user.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		want := pod.DeepCopy()
		if c.want != nil {
			c.want(want)
		}
		cluster := New(user, user, nil, clock.RealClock{}, Options{Parallel: 1})
		if err := cluster.Act(t.Context(), job, []plan.Step{c.step(pod)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got corev1.Pod
		if err := user.Get(t.Context(), client.ObjectKeyFromObject(pod), &got); err != nil {
			t.Fatal(err)
		}
		got.ResourceVersion, got.Generation = want.ResourceVersion, want.Generation
		if diff := cmp.Diff(want, &got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
