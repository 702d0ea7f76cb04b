package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const bytes = "train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// inAttempt1 is a job of three ranks that restarts in place and whose first attempt has just ended.
func inAttempt1(options ...builder.JobOption) *v1alpha1.TrainingJob {
	inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
	return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.StartedAt(0), builder.Attempt(1), inPlace}, options...)...)
}

// recreates is a job whose pods are deleted by a restart.
var recreates = builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartRecreate })

// onePort is a job whose ranks meet at the same port in each attempt, as the template declares it.
var onePort = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
	pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "pytorchjob-port", ContainerPort: 23456}}
}))

// began is a job whose pods of the present attempt were created for that method.
func began(method v1alpha1.RestartMethod) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Memory.RestartMethod = method })
}

// restartable is a running pod that can restart in place. told is its last assignment, if any.
func restartable(index int, told, process string, options ...builder.PodOption) builder.SnapshotOption {
	if told == "" {
		told = `{"life":"0-0"}`
	}
	one := builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"trainingjob.dev/in-place-restart": told}
		pod.Spec.Containers[0].Image = "train:v1"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, ContainerID: process, ImageID: "docker.io/library/" + bytes,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	return builder.Running("worker", index, append([]builder.PodOption{builder.Life(0, 0), one}, options...)...)
}

// incident is a job whose present attempt began after an incident of that reason.
func incident(reason string) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Reason: reason}, Scope: v1alpha1.ScopeJob}}
	})
}

// hung is an incident for which the stacks blame worker-2.
var hung = builder.Status(func(s *v1alpha1.TrainingJobStatus) {
	s.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 2, Pod: "j-worker-2", Node: "node-worker-2", Cause: v1alpha1.CauseHang}, Scope: v1alpha1.ScopeJob}}
})

// drained is an incident that began as worker-1 was evicted from the node of worker-2.
var drained = builder.Status(func(s *v1alpha1.TrainingJobStatus) {
	s.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Node: "node-worker-2", Cause: v1alpha1.CauseInfrastructure}, Scope: v1alpha1.ScopeJob}}
})

func TestWhoIsRestartedInPlace(t *testing.T) {
	told := func(process string) string {
		return `{"life":"1-0","from":"0-0","process":"` + process + `","time":"` + builder.Epoch.Add(10*second).Format(time.RFC3339) + `"}`
	}
	broken := builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0))
	leader, other := restartable(0, "", "a"), restartable(2, "", "c")
	leaderTold, leaderBack := restartable(0, told("a"), "a"), restartable(0, told("a"), "a2")
	otherTold, otherBack := restartable(2, told("c"), "c"), restartable(2, told("c"), "c2")
	// The clock stands at 20 s unless one of what is seen sets it.
	then := func(what ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(seen(builder.Now(20*second)), what...)
	}
	const buryFailed, retellLeader, retellOther = "delete j-worker-1: its life is past", "restart j-worker-0 in place", "restart j-worker-2 in place"
	saidFailed := builder.Edit(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	avoided := builder.Avoided("node-worker-2", time.Hour)
	checkSteps(t, []stepCase{
		{"all at once, as each attempt has a port of its own", inAttempt1(), then(leader, other, broken), []string{buryFailed, retellLeader, retellOther}, 0},
		{"whatever the leader does", inAttempt1(), then(leaderTold, other), []string{retellOther}, 55 * second},
		{"the leader first, if the port stays", inAttempt1(onePort), then(leader, other, broken), []string{buryFailed, retellLeader}, 0},
		{"no pod while the leader's old process runs", inAttempt1(onePort), then(leaderTold, other), nil, 55 * second},
		{"the others when its new one is", inAttempt1(), then(leaderBack, other), []string{retellOther}, 0},
		{"the new pods last", inAttempt1(), then(leaderBack, otherTold), nil, 55 * second},
		{"when no old process is left", inAttempt1(), then(leaderBack, otherBack), []string{"create j-worker-1-a1r0"}, 0},
		{"a leader that is gone comes last, too", inAttempt1(), then(restartable(1, "", "b"), other), []string{"restart j-worker-1 in place", retellOther}, 0},
		{"the others wait for a leader that is ending", inAttempt1(onePort), then(builder.Deleted("worker", 0, builder.Life(0, 0), builder.DeletedAt(9*second)), other), nil, 24 * second},
		{"no pod of a replica whose two pods can act", inAttempt1(), then(leaderBack, other, restartable(2, `{"life":"0-1"}`, "d", builder.Life(0, 1))),
			[]string{"delete j-worker-2: its life is past", "delete j-worker-2-a0r1: its life is past"}, 0},
		{"new pods after an incident that suspects a node, so that their preflight checks run again", inAttempt1(incident("NodeLost")),
			then(restartable(0, "", "a", builder.Checked(5*second)), other, broken), []string{"delete j-worker-0: its life is past", buryFailed, retellOther}, 0},
		{"in place after any other incident", inAttempt1(incident("Error")), then(restartable(0, "", "a", builder.Checked(5*second)), other, broken), []string{buryFailed, retellLeader, retellOther}, 0},
		{"not a rank that the stacks of a hang blame", inAttempt1(hung), then(leaderBack, other), []string{"delete j-worker-2: its life is past"}, 0},
		{"not before the attempt may begin", inAttempt1(builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.NextStartTime = builder.TimePtr(30 * second) })),
			then(leader, other, builder.Now(20*second)), nil, 30 * second},
		{"on a node that is avoided it is created anew", inAttempt1(avoided), then(leaderBack, other), []string{"delete j-worker-2: its life is past"}, 0},
		{"on a node in trouble, too", inAttempt1(), then(leaderBack, other, builder.NodeLost("node-worker-2", 5*second), builder.Now(14*second)), []string{"delete j-worker-2: its life is past"}, 20 * second},
		{"on a silent node, too", inAttempt1(), then(leaderBack, other, builder.NodeSilent("node-worker-2", 5*second)),
			[]string{"fence j-worker-2, uid-j-worker-2", "delete j-worker-2: its life is past"}, 0},
		{"not one from before a suspension, which a create that came late has made", inAttempt1(builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Memory.ResumeNumber = 1 })),
			then(leader, other), []string{"delete j-worker-0: its life is past", "delete j-worker-2: its life is past"}, 0},
		{"on one that is unhealthy, too", inAttempt1(), then(leaderBack, other, builder.NodeUnhealthy("node-worker-2", "GpuMemWatch", "[79]", 5*second)), []string{"delete j-worker-2: its life is past"}, 0},
		{"one whose node is drained leaves with the pod that went first", inAttempt1(drained), then(leaderBack, other, builder.NodeCordoned("node-worker-2")),
			[]string{"delete j-worker-2: its life is past"}, 0},
		{"where a node is only cordoned, in place", inAttempt1(incident("Error")), then(leaderBack, other, builder.NodeCordoned("node-worker-2")), []string{retellOther}, 0},
		{"one that is being drained, too", inAttempt1(), then(leaderBack, restartable(2, "", "c", builder.Disrupted("EvictionByEvictionAPI", 5*second))),
			[]string{"delete j-worker-2: its life is past"}, 0},
		{"one that its kubelet evicts, too", inAttempt1(), then(leaderBack, restartable(2, "", "c", builder.Rejected("Evicted", "The node was low on resource: memory."), saidFailed)),
			[]string{"delete j-worker-2: its life is past"}, 0},
		{"not one whose replica has begun the attempt and lost its pod, while another one still starts: a create that came late has made it", inAttempt1(),
			then(leaderBack, other, builder.Pending("worker", 1, builder.Life(1, 0), builder.Waiting("ContainerCreating", "")), builder.Gone("worker", 2)),
			[]string{"delete j-worker-2: its life is past"}, 0},
		{"a job that recreates restarts nothing in place", inAttempt1(recreates), then(leader, other),
			[]string{"delete j-worker-0: its life is past", "delete j-worker-2: its life is past"}, 0},
		{"of a gang that stays in its group, in place", inAttempt1(builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Memory.GroupAttempt = ptr.To[int32](0) })),
			then(leader, other, ganged(state.Group{Name: "j-0", Minimum: 3})), []string{retellLeader, retellOther}, 0},
		{"as the attempt began, whatever the spec is now", inAttempt1(recreates, began(v1alpha1.RestartInPlace)), then(leader, other), []string{retellLeader, retellOther}, 0},
		{"not one that began otherwise", inAttempt1(began(v1alpha1.RestartRecreate)), then(leader, other),
			[]string{"delete j-worker-0: its life is past", "delete j-worker-2: its life is past"}, 0},
		{"not of one whose next group is its own", inAttempt1(), then(leader, other, ganged(state.Group{Name: "j-1", Minimum: 3})),
			[]string{"delete j-worker-0: its life is past", "delete j-worker-2: its life is past"}, 0},
		{"what has not restarted within its grace period and 15 s is created anew", inAttempt1(), then(leaderBack, otherTold, builder.Now(55*second)),
			[]string{"delete j-worker-2: it has not restarted in place in time"}, 0},
	})
}

// A restart in place writes the life, the ended process, and a name of the image that no life had before.
func TestTheStepOfARestartInPlace(t *testing.T) {
	p := plan.Make(builder.Snapshot(inAttempt1(), restartable(0, "", "a"), builder.Now(20*second)))
	if len(p.Steps) != 1 {
		t.Fatalf("steps %v", p.Steps)
	}
	step, _ := p.Steps[0].(plan.RestartPod)
	want := `{"life":"1-0","from":"0-0","process":"a","time":"` + builder.Epoch.Add(20*second).Format(time.RFC3339) + `"}`
	image := "docker.io/library/train:life-1-0@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	if step.Told.String() != want || step.Image != image || step.Container != "main" {
		t.Errorf("told %s; %s runs %s", step.Told, step.Container, step.Image)
	}
}

// A node may begin the life in place although it counts as lost. The number of that life, by which a storage system knows the latest process, then goes
// to no other pod.
func TestALostNodeThatMayBeginALifeKeepsItsNumber(t *testing.T) {
	told := `{"life":"1-0","from":"0-0","process":"a","time":"2026-01-05T12:00:14Z"}`
	pods := seen(restartable(0, told, "a", builder.On(lostNode)), builder.NodeLost(lostNode, 16*second), builder.Now(40*second))
	job := inAttempt1(builder.Workers(1))
	was := state.LifeNumber(&job.Status)
	p := plan.Make(builder.Snapshot(job, pods...))
	if len(p.Steps) > 0 || state.LifeNumber(&p.Status) <= was {
		t.Fatalf("number %d after %d, steps %v; want a larger number first", state.LifeNumber(&p.Status), was, p.Steps)
	}
}

// A pod that seems pending may run by now, and may have a restart in place assigned: it is deleted at the version that was read,
// or not at all.
func TestAPodThatCouldGoOnInPlaceIsDeletedAsItWasRead(t *testing.T) {
	waits := builder.Pending("worker", 2, builder.Life(0, 0), builder.Edit(func(pod *corev1.Pod) { pod.ResourceVersion = "7" }))
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want string
	}{
		"in place": {inAttempt1(), "7"},
		"anew":     {inAttempt1(recreates), ""},
	} {
		steps := plan.Make(builder.Snapshot(c.job, waits, builder.Now(20*second))).Steps
		if d, is := steps[0].(plan.DeletePod); len(steps) != 1 || !is || d.Version != c.want {
			t.Errorf("%s: steps %+v, want one deletion at version %q", name, steps, c.want)
		}
	}
}

// A user who restarts one rank wants another process in another pod. The other ranks restart in their pods, unless all must share a domain.
func TestANamedReplicaGetsANewPodWhileTheOthersRestartInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		options []builder.JobOption
		stays   bool
		words   string
		want    []string
	}{
		"one rank":         {nil, true, "worker-2: slow disk", []string{"delete j-worker-2", "restart j-worker-0", "restart j-worker-1"}},
		"the whole job":    {nil, true, "slow disk", []string{"restart j-worker-0", "restart j-worker-1", "restart j-worker-2"}},
		"within a domain":  {[]builder.JobOption{builder.Gang(v1alpha1.GangNative), builder.InDomain()}, false, "worker-2: slow disk", nil},
		"all, in a domain": {[]builder.JobOption{builder.Gang(v1alpha1.GangNative), builder.InDomain()}, true, "slow disk", nil},
	} {
		job := inAttempt1(append(c.options, builder.Attempt(0), began(v1alpha1.RestartInPlace))...)
		request(job, c.words)
		pods := []builder.SnapshotOption{builder.Now(20 * second), restartable(0, "", "a"), restartable(1, "", "b"), restartable(2, "", "c")}
		job.Status = plan.Make(builder.Snapshot(job, pods...)).Status
		if job.Status.Attempt != 1 || (job.Status.Memory.GroupAttempt != nil) != c.stays {
			t.Errorf("%s: attempt %d, group of attempt %v, want pods to stay: %t", name, job.Status.Attempt, job.Status.Memory.GroupAttempt, c.stays)
		}
		steps := lines(plan.Make(builder.Snapshot(job, pods...)).Steps)
		for _, want := range c.want {
			if !slices.ContainsFunc(steps, func(step string) bool { return strings.HasPrefix(step, want) }) {
				t.Errorf("%s: the steps %q lack %q", name, steps, want)
			}
		}
	}
}

// The annotation had another name. Such a pod trains on, and restarts in place under the new one.
func TestAPodWithAnAnnotationOfAnotherNameTrainsOn(t *testing.T) {
	old := builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"trainingjob.dev/told": pod.Annotations["trainingjob.dev/in-place-restart"]}
	})
	in := func(told string) []builder.SnapshotOption {
		return seen(builder.Now(20*second), restartable(0, told, "a", old), restartable(1, told, "b", old), restartable(2, told, "c", old))
	}
	checkSteps(t, []stepCase{
		{"in the present attempt", inAttempt1(), in(`{"life":"1-0","from":"0-0","process":"x","time":"2026-01-05T12:00:10Z"}`), nil, 0},
		{"in the one before", inAttempt1(), in(""), []string{"restart j-worker-0 in place", "restart j-worker-1 in place", "restart j-worker-2 in place"}, 0},
	})
}

// gated is a pod behind a gate: open or closed.
func gated(value string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations[v1alpha1.AnnotationStartGate] = value
		pod.Status.ContainerStatuses[0].State.Running.StartedAt = builder.Time(5 * second)
		never := corev1.ContainerRestartPolicyNever
		pod.Spec.Containers[0].RestartPolicy = &never
		pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}}}}
	})
}

// exited says that the pod's process has ended with that code. runs is the id of the process that its kubelet has started since; "" for none.
func exited(code int32, runs string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		c := &pod.Status.ContainerStatuses[0]
		end := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", ContainerID: c.ContainerID, FinishedAt: builder.Time(9 * second)}}
		if runs == "" {
			c.State = end
			return
		}
		c.LastTerminationState, c.ContainerID = end, runs
	})
}

// waits says that the kubelet waits before it starts the ended process again.
var waits = builder.Edit(func(pod *corev1.Pod) {
	c := &pod.Status.ContainerStatuses[0]
	c.LastTerminationState, c.State = c.State, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
})

// fresh says that the pod was created at Epoch.
var fresh = builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(0) })

func TestPodsBehindAGate(t *testing.T) {
	now := builder.Now(20 * second)
	present := inAttempt1(builder.Attempt(0), began(v1alpha1.RestartInPlace))
	runs := func(index int, gate string, options ...builder.PodOption) builder.SnapshotOption {
		return restartable(index, "", "a", append([]builder.PodOption{gated(gate)}, options...)...)
	}
	begins := `{"life":"1-0","from":"0-0","process":"a","time":"` + builder.Epoch.Add(10*second).Format(time.RFC3339) + `"}`
	checkSteps(t, []stepCase{
		{"a gate closes once all processes are seen", present, seen(now, runs(0, "open"), runs(1, "../closed"), runs(2, "../closed")), []string{"set the gate of j-worker-0 to ../closed"}, 0},
		{"it can wait while another replica is to run: the start comes first", present, seen(now, runs(0, "open", fresh), runs(1, "../closed"), builder.Pending("worker", 2)), nil, 60 * second},
		{"but not for more than a minute", present, seen(builder.Now(60*second), runs(0, "open", fresh), runs(1, "../closed"), builder.Pending("worker", 2)),
			[]string{"set the gate of j-worker-0 to ../closed"}, 0},
		{"nor once a replica has broken, whose peers may end next", present, seen(now, runs(0, "open", fresh), runs(1, "../closed", exited(1, "")), builder.Pending("worker", 2, builder.Waiting("ContainerCreating", ""))),
			[]string{"set the gate of j-worker-0 to ../closed"}, 0},
		{"a pod whose process has ended begins the next life", inAttempt1(), seen(now, runs(0, "../closed"), runs(1, "../closed", exited(1, "")), runs(2, "../closed")),
			[]string{"restart j-worker-0 in place", "restart j-worker-1 in place", "restart j-worker-2 in place"}, 0},
		{"also while its kubelet waits", inAttempt1(), seen(now, runs(0, "../closed"), runs(1, "../closed", exited(1, ""), waits), runs(2, "../closed")),
			[]string{"restart j-worker-0 in place", "restart j-worker-1 in place", "restart j-worker-2 in place"}, 0},
		{"not one whose containers share their processes: a collector beside it ends with the process that it watches", inAttempt1(), seen(now, runs(0, "../closed", sharesProcesses), runs(1, "../closed", exited(1, ""), sharesProcesses), runs(2, "../closed")),
			[]string{"delete j-worker-0: its life is past", "delete j-worker-1: its life is past", "restart j-worker-2 in place"}, 0},
		{"nor one whose gate was open: the kubelet may have started another one", inAttempt1(), seen(now, runs(0, "../closed"), runs(1, "open", exited(1, "")), runs(2, "../closed")),
			[]string{"delete j-worker-1: its life is past", "restart j-worker-0 in place", "restart j-worker-2 in place"}, 0},
		{"nor one that runs behind an open gate: its status may be late", inAttempt1(), seen(now, runs(0, "../closed"), runs(1, "open"), runs(2, "../closed")),
			[]string{"delete j-worker-1: its life is past", "restart j-worker-0 in place", "restart j-worker-2 in place"}, 0},
		{"nor one in which the kubelet has started another one", inAttempt1(), seen(now, runs(0, "../closed"), runs(1, "../closed", exited(1, "b")), runs(2, "../closed")),
			[]string{"delete j-worker-1: its life is past", "restart j-worker-0 in place", "restart j-worker-2 in place"}, 0},
		{"nor one on a node that is avoided", inAttempt1(builder.Avoided("node-worker-1", time.Hour)),
			seen(now, runs(0, "../closed"), runs(1, "../closed", exited(1, "")), runs(2, "../closed")),
			[]string{"delete j-worker-1: its life is past", "restart j-worker-0 in place", "restart j-worker-2 in place"}, 0},
		{"which ends, and holds no node, if it is kept for its log", inAttempt1(builder.Avoided("node-worker-1", time.Hour), failedWorker1),
			seen(now, runs(0, "../closed"), runs(1, "../closed", exited(1, "")), runs(2, "../closed")),
			[]string{"end j-worker-1", "restart j-worker-0 in place", "restart j-worker-2 in place"}, 0},
		{"a gate that was closed too late opens again", inAttempt1(), seen(now, restartable(0, begins, "a", gated("../closed"), exited(1, "")), restartable(1, begins, "b", gated("../closed")), restartable(2, begins, "c", gated("../closed"))),
			[]string{"set the gate of j-worker-0 to open"}, 55 * second},
		{"in a job that has finished a gate closes too, or the kubelet starts what fails later", inAttempt1(builder.Attempt(0), builder.Clean(v1alpha1.CleanNone), finished(v1alpha1.ReasonLeaderSucceeded)), seen(now, runs(1, "open")),
			[]string{"set the gate of j-worker-1 to ../closed"}, 60 * second},
		{"a suspended job's pod that is kept for its log holds no node", inAttempt1(builder.Attempt(0), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0), failedWorker1), seen(now, runs(1, "../closed", exited(1, ""))),
			[]string{"end j-worker-1"}, 0},
	})
}

var sharesProcesses = builder.Edit(func(pod *corev1.Pod) { pod.Spec.ShareProcessNamespace = ptr.To(true) })

// failedWorker1 says that the latest failure was of worker-1.
var failedWorker1 = builder.Status(func(s *v1alpha1.TrainingJobStatus) {
	s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Cause: v1alpha1.CauseRetryable, Reason: "Error", Time: *builder.TimePtr(9 * second)}
})

// The Event names what the next steps are.
func TestTheEventOfAReplicaThatRestartsAloneNamesItsPod(t *testing.T) {
	failedBefore := builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		at := metav1.NewTime(builder.Epoch)
		s.Memory.NodeFailures = []v1alpha1.NodeFailures{{Node: "node-worker-1", Times: []metav1.Time{at, at, at}}}
	})
	cases := []struct {
		name, gate string
		gang       v1alpha1.Gang
		options    []builder.JobOption
		words      string
		step       string
	}{
		{"it waits behind its gate", "../closed", "", nil, "only this replica restarts in its pod, restart 1 of 10.", "restart j-worker-1 in place"},
		{"its gate is open", "open", "", nil, "only this replica is replaced, restart 1 of 10.", "end j-worker-1"},
		{"its gang has a group of its own for new pods", "../closed", v1alpha1.GangNative, nil, "only this replica is replaced, restart 1 of 10.", "end j-worker-1"},
		{"its node has failed before", "../closed", "", []builder.JobOption{failedBefore}, "only this replica is replaced, restart 1 of 10.", "end j-worker-1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			options := append([]builder.JobOption{builder.Attempt(0), builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace }), builder.Workers(2),
				builder.StartedAt(0), began(v1alpha1.RestartInPlace)}, c.options...)
			pods := seen(func(s *state.Observed) { s.Gang.Scheduler = c.gang }, restartable(0, "", "a", gated("../closed")), restartable(1, "", "b", gated(c.gate), exited(1, "")))
			s := builder.Snapshot(builder.Job("j", options...), append(pods, builder.Now(20*second))...)
			events := plan.Make(s).Events
			if want := "worker-1 on node-worker-1 exited with code 1 (Error): " + c.words; len(events) == 0 || events[0].Message != want {
				t.Errorf("Events %v, want first: %s", events, want)
			}
			next := plan.Make(builder.Snapshot(after(t, s), append(pods, builder.Now(30*second))...))
			if got := fmt.Sprint(next.Steps); !strings.Contains(got, c.step) {
				t.Errorf("steps %s, want %s", got, c.step)
			}
		})
	}
}
