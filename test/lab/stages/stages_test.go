package stages_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/trainingjob/operator/test/lab/stages"
)

// load reads the stages as kwok does and returns those of one kind.
func load(t testing.TB, kind string) lifecycle.Lifecycle {
	t.Helper()
	stream, err := stages.All()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "stages.yaml")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := config.Load(context.Background(), file)
	if err != nil {
		t.Fatalf("kwok cannot read the stages: %v", err)
	}
	var ofKind []*internalversion.Stage
	for _, object := range objects {
		stage, ok := object.(*internalversion.Stage)
		if !ok {
			t.Fatalf("%T is no stage", object)
		}
		if stage.Spec.ResourceRef.Kind == kind {
			ofKind = append(ofKind, stage)
		}
	}
	all, err := lifecycle.NewLifecycle(ofKind)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func event(pod *corev1.Pod) *lifecycle.Event {
	return &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations, Data: pod}
}

// pod has the phase and the annotations (without their common prefix).
func pod(phase corev1.PodPhase, annotations ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}, Status: corev1.PodStatus{Phase: phase}}
	for i := 0; i < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "lab.trainingjob.dev/"+annotations[i], annotations[i+1])
	}
	return pod
}

func deleted(pod *corev1.Pod, grace int64, ago time.Duration) *corev1.Pod {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Duration(grace)*time.Second - ago)}
	pod.DeletionGracePeriodSeconds = &grace
	return pod
}

func ended(pod *corev1.Pod) *corev1.Pod {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
	return pod
}

// renamed runs a container whose image has another name than the one that it was started with.
func renamed(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "train:life-1-0@sha256:1"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "train@sha256:1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return pod
}

// withRule is a pod whose container starts again in its pod after that exit code.
func withRule(pod *corev1.Pod, code int32) *corev1.Pod {
	pod.Spec.Containers = []corev1.Container{{Name: "main", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyNever), RestartPolicyRules: []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
	}}}}
	return pod
}

// gated gives the pod a start gate.
func gated(pod *corev1.Pod, gate string) *corev1.Pod {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "trainingjob.dev/start-gate", gate)
	return pod
}

// overdue gives the pod no more time to be active.
func overdue(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	return pod
}

func held(pod *corev1.Pod) *corev1.Pod {
	pod.Finalizers = []string{"example.com/held"}
	return pod
}

// marked is how the controller manager leaves the pod of a node that is silent.
func marked(pod *corev1.Pod) *corev1.Pod { return notReady(pod, "") }

func notReady(pod *corev1.Pod, reason string) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason}}
	return pod
}

func TestEachStateOfAPodHasExactlyOneStage(t *testing.T) {
	all := load(t, "Pod") // before the times below are taken, as that takes a while
	ago := func(d time.Duration) string { return time.Now().Add(-d).Format(time.RFC3339Nano) }
	const pending, running = corev1.PodPending, corev1.PodRunning
	for _, test := range []struct {
		name  string
		pod   *corev1.Pod
		want  string
		delay time.Duration
	}{
		{"bound", pod(pending), "pod-start", 0},
		{"kept waiting", pod(pending, "waiting", "ErrImagePull", "start-after", "3s"), "pod-wait", 0},
		{"to start later", pod(pending, "start-after", "3s"), "pod-create", 0},
		{"to start later, accepted", pod(pending, "start-after", "3s", "accepted-at", ago(time.Second)), "pod-start", 2 * time.Second},
		{"to run for a while, not started", pod(pending, "run-for", "3s"), "pod-start", 0},
		{"running for ever", pod(running, "started-at", ago(0)), "pod-rest", forEver},
		{"given another name of its image", renamed(pod(running)), "pod-rename", 200 * time.Millisecond},
		{"given another name of its image, and to exit", renamed(pod(running, "exit-code", "1")), "pod-exit", 0},
		{"given another name of its image, marked", marked(renamed(pod(running))), "pod-ready-again", 0},
		{"given another name of its image, and deleted", deleted(renamed(pod(running)), 30, 0), "pod-terminate", 0},
		{"running for a while", pod(running, "started-at", ago(time.Second), "run-for", "1m1s"), "pod-exit", time.Minute},
		{"told to run for less than it has", pod(running, "started-at", ago(time.Minute), "run-for", "500ms"), "pod-exit", 0},
		{"told to exit", pod(running, "started-at", ago(time.Minute), "exit-code", "0"), "pod-exit", 0},
		{"told to go for its storage", pod(running, "started-at", ago(0), "run-for", "1m", "evict", "too much"), "pod-exit", 0},
		{"told to go for its storage in two versions", pod(running, "exit-code", "143", "evict", "too much", "evict-in-two", "true"), "pod-evict", 0},
		{"told to go so, which it is said to have", pod(corev1.PodFailed, "evict", "too much", "evict-in-two", "true"), "pod-exit", 500 * time.Millisecond},
		{"gone so", ended(pod(corev1.PodFailed, "evict", "too much", "evict-in-two", "true")), "pod-rest", forEver},
		{"not to be taken by its node", pod(pending, "reject", "OutOfcpu", "waiting", "X", "start-after", "3s"), "pod-reject", 0},
		{"without a program", pod(pending, "exit-reason", "StartError"), "pod-start-error", 0},
		{"without a program, to start later", pod(pending, "exit-reason", "StartError", "start-after", "3s"), "pod-create", 0},
		{"ended", ended(pod(running, "exit-code", "1", "ended-at", ago(300*time.Millisecond))), "pod-end", time.Second},
		{"ended by somebody else", ended(pod(running)), "pod-end", 0},
		{"ended before its start", ended(pod(pending, "exit-reason", "StartError", "ended-at", ago(0))), "pod-end", 1300 * time.Millisecond},
		{"ended, and started again by its own rule", ended(withRule(pod(running), 1)), "pod-restart", 100 * time.Millisecond},
		{"ended, which its own rule does not name", ended(withRule(pod(running), 2)), "pod-end", 0},
		{"ended, and started again, marked", marked(ended(withRule(pod(running), 1))), "pod-restart", 100 * time.Millisecond},
		{"ended, and started again, to exit again", ended(withRule(pod(running, "exit-code", "1"), 1)), "pod-restart", 100 * time.Millisecond},
		{"ended behind a closed gate", gated(ended(withRule(pod(running, "exit-code", "1"), 1)), "../closed"), "pod-rest", forEver},
		{"ended behind an open gate", gated(ended(withRule(pod(running, "exit-code", "1"), 1)), "open"), "pod-restart", 400 * time.Millisecond},
		{"ended behind a gate, with a code that starts nothing", gated(ended(withRule(pod(running), 2)), "../closed"), "pod-end", 0},
		{"deleted behind a gate", deleted(gated(ended(withRule(pod(running), 1)), "../closed"), 30, 0), "pod-end", 0},
		{"ended behind a gate, and active for too long", overdue(gated(ended(withRule(pod(running), 1)), "../closed")), "pod-overdue", 300 * time.Millisecond},
		{"deleted when it would be started again", deleted(ended(withRule(pod(running), 1)), 30, 0), "pod-end", 0},
		{"succeeded", pod(corev1.PodSucceeded, "run-for", "3s"), "pod-rest", forEver},
		{"failed", pod(corev1.PodFailed, "exit-code", "3"), "pod-rest", forEver},
		{"deleted", deleted(pod(running, "run-for", "3s"), 30, 0), "pod-terminate", 0},
		{"deleted before its start", deleted(pod(pending, "waiting", "X"), 30, 0), "pod-terminate", 0},
		{"slow to terminate", deleted(pod(running, "terminate-after", "5s"), 30, 2500*time.Millisecond), "pod-terminate", 3 * time.Second},
		{"deleted after its end", deleted(ended(pod(running, "ended-at", ago(0))), 30, 0), "pod-end", 1300 * time.Millisecond},
		{"deleted, and has its phase", deleted(ended(pod(corev1.PodFailed)), 30, 0), "pod-gone", 300 * time.Millisecond},
		{"never to terminate, ended", deleted(ended(pod(running, "never-terminate", "true")), 30, 0), "pod-rest", forEver},
		{"never to terminate", deleted(pod(running, "never-terminate", "true", "exit-code", "1"), 30, 0), "pod-rest", forEver},
		{"marked while its node was silent", marked(pod(running, "run-for", "3s")), "pod-ready-again", 0},
		{"marked, and to run for ever", marked(pod(running)), "pod-ready-again", 0},
		{"marked and deleted", marked(deleted(pod(running), 30, 0)), "pod-ready-again", 0},
		{"marked and deleted, never to terminate", marked(deleted(pod(running, "never-terminate", "true"), 30, 0)), "pod-ready-again", 0},
		{"marked and deleted by force, held by a finalizer", marked(held(deleted(pod(running), 0, 0))), "pod-rest", forEver},
		{"marked, and has ended", marked(ended(pod(running))), "pod-end", 0},
		{"marked, and has failed", marked(pod(corev1.PodFailed)), "pod-rest", forEver},
		{"not ready for a reason", notReady(pod(running), "ContainersNotReady"), "pod-rest", forEver},
		{"deleted by force, held by a finalizer", held(deleted(pod(running), 0, 0)), "pod-rest", forEver},
		{"its end was cut off by the API server's", deleted(pod(running), 0, 0), "pod-terminate-again", 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) { wantStage(t, all, test.pod, test.want, test.delay) })
	}
}

const forEver = 10 * 365 * 24 * time.Hour

func wantStage(t *testing.T, all lifecycle.Lifecycle, pod *corev1.Pod, want string, wantDelay time.Duration) {
	t.Helper()
	matching, err := all.ListAllPossible(context.Background(), event(pod))
	if err != nil {
		t.Fatal(err)
	}
	if len(matching) != 1 || matching[0].Name() != want {
		var names []string
		for _, stage := range matching {
			names = append(names, stage.Name())
		}
		t.Fatalf("stages %q match, want only %q", names, want)
	}
	delay, _, err := matching[0].Delay(context.Background(), event(pod), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	// a deletion timestamp has whole seconds, of which the stage assumes the half
	const rounding, slack = 500 * time.Millisecond, 100 * time.Millisecond
	if off := max(delay, 0) - wantDelay; off.Abs() > rounding+slack {
		t.Errorf("it is played after %s, want %s", delay, wantDelay)
	}
}

// A job of a thousand pods sends kwok, which matches them one by one, some thousand
// events within seconds.
func BenchmarkMatch(b *testing.B) {
	all := load(b, "Pod")
	running := pod(corev1.PodRunning, "started-at", time.Now().Format(time.RFC3339Nano))
	for b.Loop() {
		if _, err := all.Match(context.Background(), event(running)); err != nil {
			b.Fatal(err)
		}
	}
}

// On kind, kwok is told each file by name.
func TestKindPlaysEveryStage(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stages: %v", err)
	}
	for manifest, format := range map[string]string{"deployment.yaml": "--config=/config/%s\n", "kustomization.yaml": "/lab/stages/%s\n"} {
		text, err := os.ReadFile(filepath.Join("../../api/e2e/kind/kwok", manifest))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if line := fmt.Sprintf(format, file); !strings.Contains(string(text), line) {
				t.Errorf("test/api/e2e/kind/kwok/%s lacks %s", manifest, line)
			}
		}
	}
}
