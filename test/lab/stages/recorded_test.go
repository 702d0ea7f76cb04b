package stages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// recorded is how pods ended on two kubelets 1.37.1 with containerd, as a watch saw it: 363 pods, of each way the one that
// nearly all of them took. What a fake node does must give the same versions. A version is written as
//
//	phase[(reason)] [deleting GRACE] container=state ... ready=status[:reason] sandbox=status
//
// where "never" stands for an end without a time. Versions of a pod's start are left out: a fake node takes no time for it. So are those
// in which a container that is deleted before it ran waits for ContainerCreating again: nothing is decided from them. What was recorded is
// compared with kubelets of today by test/nodes.
var recorded = []struct {
	name string
	pod  *corev1.Pod
	// deleteAt is how many versions there are when somebody deletes the pod; 0: nobody does.
	deleteAt int
	want     []string
}{
	{"an exit with 7", pod(corev1.PodPending, "exit-code", "7"), 0, []string{
		"Running main=running ready=True sandbox=True",
		"Running main=7:Error ready=False:PodFailed sandbox=True",
		"Failed main=7:Error ready=False:PodFailed sandbox=False",
	}},
	{"success", pod(corev1.PodPending, "exit-code", "0"), 0, []string{
		"Running main=running ready=True sandbox=True",
		"Running main=0:Completed ready=False:PodCompleted sandbox=True",
		"Succeeded main=0:Completed ready=False:PodCompleted sandbox=False",
	}},
	{"out of memory", pod(corev1.PodPending, "exit-code", "137", "exit-reason", "OOMKilled"), 0, []string{
		"Running main=running ready=True sandbox=True",
		"Running main=137:OOMKilled ready=False:PodFailed sandbox=True",
		"Failed main=137:OOMKilled ready=False:PodFailed sandbox=False",
	}},
	{"an exit, then deleted", pod(corev1.PodPending, "exit-code", "1"), 2, []string{
		"Running main=running ready=True sandbox=True",
		"Running main=1:Error ready=False:PodFailed sandbox=True",
		"Running deleting 30 main=1:Error ready=False:PodFailed sandbox=True",
		"Failed deleting 30 main=1:Error ready=False:PodFailed sandbox=False",
		"Failed deleting 0 main=1:Error ready=False:PodFailed sandbox=False",
	}},
	{"deleted while it runs", pod(corev1.PodPending), 1, []string{
		"Running main=running ready=True sandbox=True",
		"Running deleting 30 main=running ready=True sandbox=True",
		"Failed deleting 30 main=143:Error ready=False:PodFailed sandbox=False",
		"Failed deleting 0 main=143:Error ready=False:PodFailed sandbox=False",
	}},
	{"deleted while its image is missing", pod(corev1.PodPending, "waiting", "ErrImageNeverPull"), 1, []string{
		"Pending main=waiting:ErrImageNeverPull ready=False:ContainersNotReady sandbox=True",
		"Pending deleting 30 main=waiting:ErrImageNeverPull ready=False:ContainersNotReady sandbox=True",
		"Failed deleting 30 main=137:ContainerStatusUnknown:never ready=False:ContainersNotReady sandbox=False",
		"Failed deleting 0 main=137:ContainerStatusUnknown:never ready=False:ContainersNotReady sandbox=False",
	}},
	{"no such program", pod(corev1.PodPending, "exit-reason", "StartError"), 0, []string{
		"Pending main=128:StartError ready=False:PodFailed sandbox=True",
		"Failed main=128:StartError ready=False:PodFailed sandbox=False",
	}},
	{"evicted for its own storage", pod(corev1.PodRunning, "evict", `Usage of EmptyDir volume "scratch" exceeds the limit "5Mi".`), 0, []string{
		"Failed(Evicted) main=137:Error ready=False:PodFailed sandbox=False",
	}},
	{"evicted for its own storage, and obeys SIGTERM", pod(corev1.PodRunning, "evict", "too much", "exit-code", "143"), 0, []string{
		"Failed(Evicted) main=143:Error ready=False:PodFailed sandbox=False",
	}},
	{"evicted for its own storage by a busy kubelet", pod(corev1.PodPending, "evict", "too much", "exit-code", "143", "evict-in-two", "true"), 0, []string{
		"Running main=running ready=True sandbox=True",
		"Failed(Evicted) main=running ready=False:PodFailed sandbox=True",
		"Failed(Evicted) main=143:Error ready=False:PodFailed sandbox=False",
	}},
	{"its node was rebooted", pod(corev1.PodPending, "exit-code", "255", "exit-reason", "Unknown"), 0, []string{
		"Running main=running ready=True sandbox=True",
		"Running main=255:Unknown ready=False:PodFailed sandbox=True",
		"Failed main=255:Unknown ready=False:PodFailed sandbox=False",
	}},
	{"success beside a side-car", withSidecar(pod(corev1.PodPending, "exit-code", "0")), 0, []string{
		"Running agent=running main=running ready=True sandbox=True",
		"Running agent=running main=0:Completed ready=False:ContainersNotReady sandbox=True",
		"Running agent=0:Completed main=0:Completed ready=False:PodCompleted sandbox=False",
		"Succeeded agent=0:Completed main=0:Completed ready=False:PodCompleted sandbox=False",
	}},
}

func TestPodsEndAsOnKubelets(t *testing.T) {
	all := load(t, "Pod")
	for _, c := range recorded {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, play(t, all, c.pod, c.deleteAt)); diff != "" {
				t.Errorf("kubelets (-) and the stages (+) differ:\n%s", diff)
			}
		})
	}
}

// No rejection is among the recorded ones: a kubelet that rejects a pod writes phase, reason and message alone (rejectPod).
func TestAKubeletThatRejectsAPodTellsNothingOfItsContainers(t *testing.T) {
	got := play(t, load(t, "Pod"), pod(corev1.PodPending, "reject", "UnexpectedAdmissionError"), 0)
	if want := []string{"Failed(UnexpectedAdmissionError) ready= sandbox="}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a test writes into the status of one container is that container's end: a kubelet never changes it again.
func TestAContainerThatHasEndedStaysAsItIs(t *testing.T) {
	all := load(t, "Pod")
	running := pod(corev1.PodRunning, "exit-code", "0")
	running.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
		}}},
	}
	got := play(t, all, running, 0, "agent")
	want := []string{
		"Running main=0:Completed agent=1:Error ready=False:PodCompleted sandbox=",
		"Failed main=0:Completed agent=1:Error ready=False:PodCompleted sandbox=False",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAContainerThatEndsIsTheOneThatRan(t *testing.T) {
	before := corev1.ContainerStatus{
		Name: "main", Image: "example.test/main:life-1-0", ImageID: "example.test/main@sha256:" + strings.Repeat("a", 64), ContainerID: "fake://1", RestartCount: 1,
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
	}
	for name, going := range map[string]struct {
		pod  *corev1.Pod
		code int32
	}{
		"by itself": {pod(corev1.PodRunning, "exit-code", "7"), 7},
		"deleted":   {deleted(pod(corev1.PodRunning), 30, 0), 143},
	} {
		t.Run(name, func(t *testing.T) {
			going.pod.Spec.Containers = []corev1.Container{{Name: before.Name, Image: before.Image}}
			going.pod.Status.ContainerStatuses = []corev1.ContainerStatus{before}
			all := load(t, "Pod")
			ended, _ := step(t, onlyStage(t, all, going.pod), going.pod)
			after := ended.Status.ContainerStatuses[0]
			if end := after.State.Terminated; end == nil || end.ExitCode != going.code || end.ContainerID != before.ContainerID {
				t.Errorf("it ended with %v", end)
			}
			after.State = before.State
			if diff := cmp.Diff(before, after, cmpopts.IgnoreFields(before, "Started", "Ready")); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
		})
	}
}

// Of a container that its own rule starts again a kubelet tells its end for a tenth of a second, and then that it runs. That the pod was
// marked as not ready meanwhile is no matter here.
func TestAContainerIsStartedAgainAsItsOwnRuleSays(t *testing.T) {
	all := load(t, "Pod")
	ended := ended(withRule(pod(corev1.PodRunning), 1))
	next, _ := step(t, onlyStage(t, all, ended), ended)
	if got, want := version(next), "Running main=running ready=True sandbox="; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again := next.Status.ContainerStatuses[0]
	if end := again.LastTerminationState.Terminated; again.RestartCount != 1 || end == nil || end.ExitCode != 1 {
		t.Errorf("got restart %d after %v, want the first, after exit code 1", again.RestartCount, end)
	}
}

func withSidecar(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.InitContainers = []corev1.Container{{Name: "agent", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	return pod
}

// play plays the stages until there is nothing more to do, without the delays, and returns the versions of the pod. It has a container main and those
// named besides.
func play(t *testing.T, all lifecycle.Lifecycle, pod *corev1.Pod, deleteAt int, besides ...string) []string {
	t.Helper()
	pod = pod.DeepCopy()
	pod.UID, pod.ResourceVersion, pod.Spec.NodeName = "u", "1", "gpu-0"
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	for _, name := range besides {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "i"})
	}
	var versions []string
	for range 10 {
		if len(versions) == deleteAt && deleteAt > 0 {
			pod = deleted(pod, 30, 0)
			versions = append(versions, version(pod))
		}
		stage := onlyStage(t, all, pod)
		if stage.Name() == "pod-rest" {
			return versions
		}
		next, gone := step(t, stage, pod)
		if version(next) == version(pod) { // pod-wait is played again and again
			return versions
		}
		versions = append(versions, version(next))
		if gone {
			return versions
		}
		pod = next
	}
	t.Fatalf("the pod comes to no end: %q", versions)
	return nil
}

func onlyStage(t *testing.T, all lifecycle.Lifecycle, pod *corev1.Pod) *lifecycle.Stage {
	t.Helper()
	matching, err := all.ListAllPossible(context.Background(), event(pod))
	if err != nil {
		t.Fatal(err)
	}
	if len(matching) != 1 {
		t.Fatalf("%d stages match, want one: %s", len(matching), version(pod))
	}
	return matching[0]
}

// step does the stage's work as the API server would, and reports whether it was to delete the pod.
func step(t *testing.T, stage *lifecycle.Stage, pod *corev1.Pod) (next *corev1.Pod, gone bool) {
	t.Helper()
	next = pod.DeepCopy()
	remove := func() error {
		gone, next.DeletionGracePeriodSeconds = true, ptr.To[int64](0)
		return nil
	}
	patch := func(patch *lifecycle.Patch) error {
		is, err := json.Marshal(pod)
		if err != nil {
			return err
		}
		will, err := strategicpatch.StrategicMergePatch(is, patch.Data, corev1.Pod{})
		if err != nil {
			return fmt.Errorf("%w\n%s", err, patch.Data)
		}
		next = &corev1.Pod{}
		return json.Unmarshal(will, next)
	}
	if _, err := stage.DoSteps(0, nil, pod, renderer, nil, remove, patch, nil); err != nil {
		t.Fatalf("stage %s: %v", stage.Name(), err)
	}
	return next, gone
}

var renderer = gotpl.NewRenderer(gotpl.FuncMap{
	"NodeIPsWith": func(string) []string { return nil },
	"PodIPsWith":  func(string, bool, string, string, string) []string { return nil },
})

// version is what recorded says of a version.
func version(pod *corev1.Pod) string {
	text := []string{string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		text[0] += "(" + pod.Status.Reason + ")"
	}
	if pod.DeletionTimestamp != nil {
		text = append(text, fmt.Sprintf("deleting %d", *pod.DeletionGracePeriodSeconds))
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		text = append(text, c.Name+"="+stateOf(c.State))
	}
	return strings.Join(append(text, "ready="+condition(pod, corev1.PodReady, true), "sandbox="+condition(pod, corev1.PodReadyToStartContainers, false)), " ")
}

func stateOf(state corev1.ContainerState) string {
	switch ended := state.Terminated; {
	case ended != nil && ended.FinishedAt.IsZero():
		return fmt.Sprintf("%d:%s:never", ended.ExitCode, ended.Reason)
	case ended != nil:
		return fmt.Sprintf("%d:%s", ended.ExitCode, ended.Reason)
	case state.Waiting != nil:
		return "waiting:" + state.Waiting.Reason
	}
	return "running"
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType, withReason bool) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && withReason && c.Reason != "" {
			return string(c.Status) + ":" + c.Reason
		}
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}
