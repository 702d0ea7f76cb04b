package state_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const second = time.Second

func at(d time.Duration) time.Time { return builder.Epoch.Add(d) }

func ended(name string, code int32, when time.Duration) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Error", Message: name, FinishedAt: builder.Time(when)}}}
}

// took is an init container that ended after so long, with 0 or the code.
func took(name string, long time.Duration, code ...int32) corev1.ContainerStatus {
	c := ended(name, 0, long)
	if c.State.Terminated.StartedAt = builder.Time(0); len(code) > 0 {
		c.State.Terminated.ExitCode = code[0]
	}
	return c
}

func runs(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func ready(name string) corev1.ContainerStatus {
	c := runs(name)
	c.Ready = true
	return c
}

// notReady makes the pod one that is not ready for that reason.
func notReady(reason string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason})
	})
}

// containers are the pod's, in the order of its spec.
func containers(all ...corev1.ContainerStatus) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = all
		var list []corev1.Container
		for i := range all {
			list = append(list, corev1.Container{Name: all[i].Name})
			if at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == all[i].Name }); at >= 0 {
				list[i] = pod.Spec.Containers[at]
			}
		}
		pod.Spec.Containers = list
	})
}

// mainIs names the main container.
func mainIs(name string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": name}
	})
}

func initContainers(all ...corev1.ContainerStatus) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) { pod.Status.InitContainerStatuses = all })
}

// sidecar makes the named init container one that the kubelet restarts by itself.
func sidecar(name string) builder.PodOption {
	always := corev1.ContainerRestartPolicyAlways
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
	})
}

func volume(source corev1.VolumeSource) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
	})
}

// restartedOn lets the kubelet start the named container again in its pod on these exit codes, or on all but these.
func restartedOn(name string, operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) builder.PodOption {
	never := corev1.ContainerRestartPolicyNever
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, RestartPolicy: &never, RestartPolicyRules: []corev1.ContainerRestartRule{{
			Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes}}}})
	})
}

func TestPodOf(t *testing.T) {
	exit := func(name string, code int32, when time.Duration) *state.Exit {
		return &state.Exit{Container: name, Main: name != "setup", Code: code, Reason: "Error", Message: name, Time: at(when)}
	}
	side := func(name string, code int32, when time.Duration) state.Exit {
		e := *exit(name, code, when)
		e.Main, e.Side = false, true
		return e
	}
	cases := []struct {
		name    string
		phase   corev1.PodPhase
		options []builder.PodOption
		want    state.Pod
	}{
		{"a pod that waits for a node", corev1.PodPending, []builder.PodOption{builder.Unschedulable("0/3 nodes fit")},
			state.Pod{Run: state.Run{Waiting: state.Trouble{Reason: "Unschedulable", Message: "0/3 nodes fit", Time: at(0)}}}},
		{"a pod that waits for its image", corev1.PodPending, []builder.PodOption{builder.Waiting("ErrImagePull", "denied")},
			state.Pod{Node: "node-1", Run: state.Run{Waiting: state.Trouble{Reason: "ErrImagePull", Message: "denied"}}}},
		{"a pod that runs", corev1.PodRunning, []builder.PodOption{builder.Ready(), containers(runs("main"))},
			state.Pod{Node: "n", Run: state.Run{Ready: true}}},
		{"a side-car has ended and the main container is ready", corev1.PodRunning,
			[]builder.PodOption{notReady("ContainersNotReady"), containers(ready("a"), ended("b", 0, 3*second))}, state.Pod{Node: "n", Run: state.Run{Ready: true}}},
		{"the main container is not ready, a side-car is", corev1.PodRunning,
			[]builder.PodOption{notReady("ContainersNotReady"), containers(runs("a"), ready("b"))}, state.Pod{Node: "n"}},
		{"its node is not heard of any more", corev1.PodRunning, []builder.PodOption{notReady(""), containers(ready("a"))}, state.Pod{Node: "n"}},
		{"a pod that succeeded", corev1.PodSucceeded, []builder.PodOption{builder.Exit(0), builder.At(9 * second)},
			state.Pod{Node: "n", End: state.End{Ended: true, MainSucceeded: true, Finished: at(9 * second)}}},
		{"side-cars have failed, the main container has not", corev1.PodFailed,
			[]builder.PodOption{containers(ended("a", 0, 1*second), ended("b", 143, 5*second), ended("c", 1, 3*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, MainSucceeded: true, SideExits: []state.Exit{side("c", 1, 3*second), side("b", 143, 5*second)}, Finished: at(5 * second)}}},
		{"the main container is why the pod failed, whoever was first", corev1.PodFailed,
			[]builder.PodOption{containers(ended("a", 1, 4*second), ended("b", 143, 3*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, Exit: exit("a", 1, 4*second), SideExits: []state.Exit{side("b", 143, 3*second)}, Finished: at(4 * second)}}},
		{"an annotation of the template names the main container", corev1.PodFailed,
			[]builder.PodOption{mainIs("b"), containers(ended("a", 2, 1*second), ended("b", 1, 3*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, Exit: exit("b", 1, 3*second), SideExits: []state.Exit{side("a", 2, 1*second)}, Finished: at(3 * second)}}},
		{"a side-car has failed, the main container runs", corev1.PodRunning, []builder.PodOption{containers(runs("a"), ended("b", 1, 3*second))},
			state.Pod{Node: "n", End: state.End{SideExits: []state.Exit{side("b", 1, 3*second)}}}},
		{"a container has failed, another still runs", corev1.PodRunning, []builder.PodOption{containers(ended("a", 1, 3*second), runs("b"))},
			state.Pod{Node: "n", End: state.End{Exit: exit("a", 1, 3*second)}}},
		{"all containers have ended, and the kubelet has yet to say so of the pod", corev1.PodRunning, []builder.PodOption{containers(ended("a", 1, 3*second), ended("b", 0, 2*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, Exit: exit("a", 1, 3*second)}}},
		{"a rule of the container's own starts it again in its pod", corev1.PodRunning,
			[]builder.PodOption{restartedOn("a", corev1.ContainerRestartRuleOnExitCodesOpIn, 42), containers(ended("a", 42, 3*second))}, state.Pod{Node: "n", Run: state.Run{Between: true}}},
		{"no rule of the container's own fits its exit code", corev1.PodRunning,
			[]builder.PodOption{restartedOn("a", corev1.ContainerRestartRuleOnExitCodesOpIn, 42), containers(ended("a", 1, 3*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, Exit: exit("a", 1, 3*second)}}},
		{"a rule names the exit codes that it is not for", corev1.PodRunning,
			[]builder.PodOption{restartedOn("a", corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0, 93), containers(ended("a", 1, 3*second))}, state.Pod{Node: "n", Run: state.Run{Between: true}}},
		{"a pod that has failed starts nothing again", corev1.PodFailed,
			[]builder.PodOption{restartedOn("a", corev1.ContainerRestartRuleOnExitCodesOpIn, 42), containers(ended("a", 42, 3*second))},
			state.Pod{Node: "n", End: state.End{Ended: true, Exit: exit("a", 42, 3*second), Finished: at(3 * second)}}},
		{"all containers are being restarted because of one", corev1.PodRunning,
			[]builder.PodOption{builder.Flagged("AllContainersRestarting"), containers(ended("a", 137, 3*second), ended("b", 7, 3*second))},
			state.Pod{Node: "n", Run: state.Run{Between: true, Conditions: []string{"AllContainersRestarting"}}}},
		{"words that a status cannot hold", corev1.PodPending, []builder.PodOption{builder.Waiting("pulling image 20%", "\x1b[31mslow\u202e\n")},
			state.Pod{Node: "node-1", Run: state.Run{Waiting: state.Trouble{Reason: "Other", Message: "pulling image 20%: [31mslow"}}}},
		{"a reason that is too long for a status", corev1.PodFailed, []builder.PodOption{builder.Rejected(strings.Repeat("R", 200), "")},
			state.Pod{Node: "n", End: state.End{NeverRan: true, Rejected: state.Trouble{Reason: "Other", Message: strings.Repeat("R", 200)}}}},
		{"a container is done, another still runs", corev1.PodRunning, []builder.PodOption{containers(ended("a", 0, 3*second), runs("b"))},
			state.Pod{Node: "n", End: state.End{MainSucceeded: true}}},
		{"an init container failed", corev1.PodFailed, []builder.PodOption{initContainers(ended("setup", 2, 3*second)),
			containers(corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}})},
			state.Pod{Node: "n", End: state.End{Exit: exit("setup", 2, 3*second), Finished: at(3 * second)}, Run: state.Run{Waiting: state.Trouble{Reason: "PodInitializing"}}}},
		{"a node failed its preflight check", corev1.PodFailed, []builder.PodOption{initContainers(took("preflight-nccl-loopback", 3*second, 1))},
			state.Pod{Node: "n", End: state.End{NeverRan: true, Finished: at(3 * second), Rejected: state.Trouble{Reason: "PreflightFailed", Message: "preflight-nccl-loopback: preflight-nccl-loopback"}}, Checks: state.Checks{Ended: true, Took: 3 * second}}},
		{"a preflight check is misconfigured", corev1.PodFailed, []builder.PodOption{initContainers(took("preflight-a", 3*second, 2))},
			state.Pod{Node: "n", Checks: state.Checks{Ended: true, Took: 3 * second}, End: state.End{Exit: &state.Exit{Container: "preflight-a", Code: 2, Reason: "Error", Message: "preflight-a", Time: at(3 * second)}, Finished: at(3 * second)}}},
		{"a preflight check runs", corev1.PodPending, []builder.PodOption{initContainers(took("preflight-a", 3*second), runs("preflight-b"))},
			state.Pod{Checks: state.Checks{Running: true, Ended: true, Took: 3 * second}}},
		{"a native side-car with the name of a check runs", corev1.PodRunning, []builder.PodOption{sidecar("preflight-proxy"), initContainers(took("preflight-a", 2*second), runs("preflight-proxy"))},
			state.Pod{Node: "n", Checks: state.Checks{Ended: true, Took: 2 * second}}},
		{"all preflight checks have passed", corev1.PodRunning, []builder.PodOption{initContainers(took("preflight-a", 3*second), took("preflight-b", 2*second), took("prepare", 9*second))},
			state.Pod{Node: "n", Checks: state.Checks{Ended: true, Took: 5 * second}}},
		{"a preflight check is only an init container", corev1.PodFailed, []builder.PodOption{mainIs("preflight-a"), containers(took("preflight-a", 3*second, 1))},
			state.Pod{Node: "n", End: state.End{Exit: &state.Exit{Container: "preflight-a", Main: true, Code: 1, Reason: "Error", Message: "preflight-a", Time: at(3 * second)}, Finished: at(3 * second), Ended: true}}},
		{"a side-car that the kubelet restarts is no failure", corev1.PodRunning,
			[]builder.PodOption{sidecar("proxy"), initContainers(ended("proxy", 1, 3*second)), containers(runs("main"))}, state.Pod{Node: "n"}},
		{"evicted before a container ran", corev1.PodFailed, []builder.PodOption{builder.Rejected("Evicted", "low on memory")},
			state.Pod{Node: "n", End: state.End{NeverRan: true, Rejected: state.Trouble{Reason: "Evicted", Message: "low on memory"}}}},
		{"ended by Kueue before it had a node", corev1.PodFailed, []builder.PodOption{builder.On("n"), builder.ByKueue(3 * second)},
			state.Pod{Node: "n", End: state.End{NeverRan: true, Disruption: state.Trouble{
				Reason: "UnschedulableOnAssignedNode", Message: "Pod terminated by Kueue due to node taint", Time: at(3 * second)}}, Run: state.Run{Conditions: []string{"TerminatedByKueue"}}}},
		{"a reason is no rejection unless the pod failed", corev1.PodRunning, []builder.PodOption{builder.Rejected("NodeLost", "")},
			state.Pod{Node: "n"}},
		{"deletion was asked for the grace period before its timestamp", corev1.PodRunning, []builder.PodOption{builder.DeletedAt(7 * second)},
			state.Pod{Node: "n", Deletion: state.Deletion{Deleted: at(7 * second), EndsBy: at(37 * second)}}},
		{"preempted", corev1.PodRunning, []builder.PodOption{builder.Disrupted("PreemptionByScheduler", 4*second)},
			state.Pod{Node: "n", End: state.End{Disruption: state.Trouble{Reason: "PreemptionByScheduler", Message: "Taken away.", Time: at(4 * second)}}, Run: state.Run{Conditions: []string{"DisruptionTarget"}}}},
		{"conditions of its own that are True", corev1.PodRunning,
			[]builder.PodOption{builder.Ready(), builder.Flagged("example.com/b"), builder.Flagged("Initialized"), builder.Flagged("example.com/a")},
			state.Pod{Node: "n", Run: state.Run{Ready: true, Conditions: []string{"example.com/b", "example.com/a"}}}},
		{"taken out of the Service", corev1.PodRunning, []builder.PodOption{builder.Fenced()}, state.Pod{Node: "n", Fenced: true}},
		{"a claim", corev1.PodRunning, []builder.PodOption{builder.Claiming()}, state.Pod{Node: "n", HoldsVolume: true}},
		{"a claim of its own", corev1.PodRunning, []builder.PodOption{volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})},
			state.Pod{Node: "n", HoldsVolume: true}},
		{"a volume that lives with the pod", corev1.PodRunning, []builder.PodOption{volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})},
			state.Pod{Node: "n"}},
		{"a broken device", corev1.PodRunning, []builder.PodOption{builder.Unhealthy("nvidia.com/gpu", "GPU-7")},
			state.Pod{Node: "n", Run: state.Run{Unhealthy: state.Trouble{Reason: "DeviceUnhealthy", Message: "nvidia.com/gpu GPU-7"}}}},
	}
	job, slot, life := builder.Job("j", builder.Workers(2)), state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{Attempt: 2, Replacement: 1}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.phase != corev1.PodPending {
				c.options = append(c.options, builder.On("n"))
			}
			c.want.Name, c.want.UID, c.want.Slot, c.want.Life, c.want.Phase = "j-worker-1-a2r1", "uid-j-worker-1-a2r1", slot, life, c.phase
			got, ok := state.PodOf("j", builder.Pod(job, slot, life, c.phase, c.options...))
			if diff := cmp.Diff(c.want, got); !ok || diff != "" {
				t.Errorf("is ours: %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestAPodOfAnotherNameIsNotOurs(t *testing.T) {
	if _, ok := state.PodOf("j", &corev1.Pod{}); ok {
		t.Error("a pod without a name is taken for the job's")
	}
}

// A kubelet ends a pod that was deleted before it ran so. To take that for a failure would restart its job, or explain another's.
func TestAPodThatWasDeletedBeforeItRanHasNotFailed(t *testing.T) {
	unknown := func(message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: message}}}
	}
	for name, c := range map[string]struct {
		status  corev1.ContainerStatus
		options []builder.PodOption
		ran     bool
	}{
		"it never ran":               {unknown("The container could not be located when the pod was terminated"), []builder.PodOption{builder.DeletedAt(second)}, false},
		"nobody deleted it":          {unknown("The container could not be located when the pod was terminated"), nil, true},
		"the kubelet lost its track": {unknown("The container could not be located when the pod was deleted.  The container used to be Running"), []builder.PodOption{builder.DeletedAt(second)}, true},
		"it obeyed its deletion":     {ended("main", 143, second), []builder.PodOption{builder.DeletedAt(second)}, true},
	} {
		pod := builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodFailed, append(c.options, containers(c.status))...)
		p, _ := state.PodOf("j", pod)
		if p.HasStarted() != c.ran || (p.Exit != nil) != c.ran {
			t.Errorf("%s: started %v, exit %v; want %v", name, p.HasStarted(), p.Exit, c.ran)
		}
	}
}

// A kubelet that evicts a pod may write Failed before it writes how the container ended: until then it runs.
func TestAPodThatIsCalledFailedRunsUntilItsContainersHaveEnded(t *testing.T) {
	job, slot := builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}
	for name, c := range map[string]struct {
		option  builder.PodOption
		phase   corev1.PodPhase
		started bool
	}{
		"it runs":        {builder.StillRunning(), corev1.PodRunning, true},
		"it ran":         {builder.RanBefore(), corev1.PodRunning, true},
		"it has ended":   {builder.Exit(143), corev1.PodFailed, true},
		"it never began": {builder.Waiting("ContainerCreating", ""), corev1.PodFailed, false},
	} {
		p, _ := state.PodOf("j", builder.Pod(job, slot, state.Life{}, corev1.PodFailed, builder.Rejected("Evicted", "too much"), c.option))
		if p.Phase != c.phase || p.HasStarted() != c.started || p.Rejected.Reason != "Evicted" {
			t.Errorf("%s: phase %s, started %t, %q", name, p.Phase, p.HasStarted(), p.Rejected.Reason)
		}
	}
}
