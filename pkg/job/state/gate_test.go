package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// restartsByRules gives the main container the policy and the rules of one with a gate.
func restartsByRules(pod *corev1.Pod) {
	main, never := &pod.Spec.Containers[0], corev1.ContainerRestartPolicyNever
	main.RestartPolicy = &never
	main.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0, 2, 126, 127, 128}}}}
}

// TestGateOf holds what a kubelet of 1.37 showed of pods behind a gate against what the operator makes of it.
func TestGateOf(t *testing.T) {
	end := func(process string, code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ContainerID: process, ExitCode: code, Reason: "Error"}
	}
	running, waiting := &corev1.ContainerStateRunning{StartedAt: builder.Time(0)}, &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	noPath := &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}
	lost := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated"}
	const first, second = `{"life":"0-0"}`, `{"life":"1-0","from":"0-0","process":"a","ended":"2026-01-05T12:00:00Z","time":"2026-01-05T12:00:00Z"}`
	const third = `{"life":"2-0","from":"1-0","process":"b","before":"a","time":"2026-01-05T12:00:09Z"}`
	for name, c := range map[string]struct {
		phase    corev1.PodPhase
		begins   string
		gate     string
		process  string
		now      corev1.ContainerState
		before   *corev1.ContainerStateTerminated
		code     int32 // of the process of this life; 0 if it has not failed
		rejected string
		kept     bool
		want     state.Gate
	}{
		"it runs, and its gate is open":                       {corev1.PodRunning, first, "open", "a", corev1.ContainerState{Running: running}, nil, 0, "", false, state.Gate{Gated: true, Open: true}},
		"it has ended behind its gate":                        {corev1.PodRunning, first, "../closed", "a", corev1.ContainerState{Terminated: end("a", 3)}, nil, 3, "", true, state.Gate{Gated: true, Waits: true}},
		"it has ended, and its gate is open":                  {corev1.PodRunning, first, "open", "a", corev1.ContainerState{Terminated: end("a", 3)}, nil, 3, "", false, state.Gate{Gated: true, Open: true, Waits: true}},
		"its kubelet waits before it starts it again":         {corev1.PodRunning, first, "open", "a", corev1.ContainerState{Waiting: waiting}, end("a", 3), 3, "", false, state.Gate{Gated: true, Open: true, Waits: true}},
		"the same, and the gate has closed":                   {corev1.PodRunning, first, "../closed", "a", corev1.ContainerState{Waiting: waiting}, end("a", 3), 3, "", true, state.Gate{Gated: true, Waits: true}},
		"its kubelet has started it again":                    {corev1.PodRunning, first, "../closed", "b", corev1.ContainerState{Running: running}, end("a", 3), 3, "", false, state.Gate{Gated: true, Strayed: true}},
		"which has ended as well":                             {corev1.PodRunning, first, "../closed", "b", corev1.ContainerState{Terminated: end("b", 4)}, end("a", 3), 3, "", false, state.Gate{Gated: true, Strayed: true, Waits: true}},
		"which has succeeded":                                 {corev1.PodSucceeded, first, "../closed", "b", corev1.ContainerState{Terminated: end("b", 0)}, end("a", 3), 0, "", false, state.Gate{Gated: true}},
		"the operator has it started, and it has not":         {corev1.PodRunning, second, "open", "a", corev1.ContainerState{Terminated: end("a", 3)}, nil, 0, "", false, state.Gate{Gated: true, Open: true, Waits: true}},
		"it runs in its second life":                          {corev1.PodRunning, second, "open", "b", corev1.ContainerState{Running: running}, end("a", 3), 0, "", false, state.Gate{Gated: true, Open: true}},
		"it has ended in its second life":                     {corev1.PodRunning, second, "../closed", "b", corev1.ContainerState{Terminated: end("b", 4)}, end("a", 3), 4, "", true, state.Gate{Gated: true, Waits: true}},
		"its kubelet has started it again in its second life": {corev1.PodRunning, second, "open", "c", corev1.ContainerState{Running: running}, end("b", 4), 4, "", false, state.Gate{Gated: true, Open: true, Strayed: true}},
		"its exit code starts no other one":                   {corev1.PodRunning, first, "../closed", "a", corev1.ContainerState{Terminated: end("a", 127)}, nil, 127, "", false, state.Gate{Gated: true}},
		"the operator has it ended":                           {corev1.PodFailed, first, "../closed", "a", corev1.ContainerState{Terminated: lost}, end("a", 3), 3, "", false, state.Gate{Gated: true}},
		"its kubelet finds no path to mount":                  {corev1.PodRunning, first, "../closed", "a", corev1.ContainerState{Waiting: noPath}, end("a", 3), 3, "", true, state.Gate{Gated: true, Waits: true}},
		"the operator has it ended then":                      {corev1.PodFailed, first, "../closed", "a", corev1.ContainerState{Waiting: noPath}, end("a", 3), 3, "", false, state.Gate{Gated: true}},
		"its kubelet has forgotten a process that barely ran": {corev1.PodRunning, third, "open", "c", corev1.ContainerState{Running: running}, end("a", 143), 0, "", false, state.Gate{Gated: true, Open: true}},
		"its node was rebooted":                               {corev1.PodRunning, first, "../closed", "a", corev1.ContainerState{Terminated: end("a", 255)}, nil, 255, "", false, state.Gate{Gated: true, Waits: true, Gutted: true}},
		"it has no gate":                                      {corev1.PodRunning, first, "", "a", corev1.ContainerState{Running: running}, end("x", 3), 0, "", false, state.Gate{}},
	} {
		pod := builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, state.Life{}, c.phase)
		pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: c.begins, v1alpha1.AnnotationStartGate: c.gate}
		pod.Spec.NodeName = "n"
		restartsByRules(pod)
		if c.phase == corev1.PodFailed {
			pod.Status.Reason = "DeadlineExceeded"
		}
		if c.want.Gutted {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, ContainerID: c.process, State: c.now,
			LastTerminationState: corev1.ContainerState{Terminated: c.before}}}
		p, _ := state.PodOf("j", pod)
		code := int32(0)
		if p.Exit != nil {
			code = p.Exit.Code
		}
		isOver := c.phase == corev1.PodFailed || c.phase == corev1.PodSucceeded
		if diff := cmp.Diff(c.want, p.Gate); diff != "" || code != c.code || p.Rejected.Reason != c.rejected || p.IsKept() != c.kept || p.CanRun() == isOver {
			t.Errorf("%s: exit code %d, rejected %q, kept %t, can run %t, gate (-want +got):\n%s", name, code, p.Rejected.Reason, p.IsKept(), p.CanRun(), diff)
		}
	}
}

// An API server before 1.35 drops the rules, and the kubelet ends the pod with its process.
func TestAPodWithoutRulesHasNoGate(t *testing.T) {
	pod := builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning)
	pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"0-0"}`, v1alpha1.AnnotationStartGate: "open"}
	if p, _ := state.PodOf("j", pod); p.Gated {
		t.Errorf("the pod has a gate: %+v", p.Gate)
	}
}

// A pod may wait for a long time at its gate, and its node be drained meanwhile: that did not end its process.
func TestWhatHappensToAPodAfterItsProcessHasEndedExplainsNothing(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	waits := builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"0-0"}`, v1alpha1.AnnotationStartGate: v1alpha1.GateClosed}
		restartsByRules(pod)
		pod.Status.Phase = corev1.PodRunning
	})
	seen := builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(3), waits))
	if p := &seen.Pods[0]; !p.Waits || p.Exit == nil {
		t.Fatalf("the pod does not wait: %+v", p)
	}
	for name, c := range map[string]struct {
		ended map[types.UID]state.Pod
		want  string
	}{
		"its end was seen before": {map[types.UID]state.Pod{seen.Pods[0].UID: seen.Pods[0]}, ""},
		"it was not":              {nil, "EvictionByEvictionAPI"},
	} {
		o := builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(3), waits, builder.Disrupted("EvictionByEvictionAPI", 9*second))).Observed
		o.Ended = c.ended
		s, err := state.New(o)
		if err != nil || s.Pods[0].Disruption.Reason != c.want {
			t.Errorf("%s: disruption %q (%v), want %q", name, s.Pods[0].Disruption.Reason, err, c.want)
		}
	}
}
