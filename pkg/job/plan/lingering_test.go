package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestAPodThatDoesNotEndIsNamedAndStallsTheJob(t *testing.T) {
	past := builder.Life(0, 0)
	ending := builder.Deleted("worker", 1, past, builder.DeletedAt(30*second)) // its grace period ends at 60 s
	whole := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.Attempt(1))
	alone := builder.Job("j", builder.Workers(2), builder.Condition(v1alpha1.ConditionRunning, true, "", 0),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	for _, job := range []*v1alpha1.TrainingJob{whole, alone} {
		for _, c := range []struct {
			at             time.Duration
			named, stalled bool
		}{{40 * second, false, false}, {50 * second, true, false}, {90 * second, true, true}} {
			p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, builder.Life(int(job.Status.Attempt), 0)), ending, builder.Now(c.at)))
			stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
			emitted := slices.ContainsFunc(p.Events, func(e plan.Event) bool { return strings.HasPrefix(e.Message, v1alpha1.ReasonPodNotEnding) })
			if got := stalled != nil && stalled.Status == "True" && stalled.Reason == v1alpha1.ReasonPodNotEnding; got != c.stalled || emitted != c.stalled {
				t.Errorf("at %v the job is stalled: %v, it has an Event: %t", c.at, stalled, emitted)
			}
			if got := strings.Contains(p.Status.Message, "j-worker-1 on node-worker-1"); got != c.named {
				t.Errorf("at %v the message is %q", c.at, p.Status.Message)
			}
		}
	}
}

// The pod was drained while its node prepared it, and the node does not release it.
func TestAPodThatNeverRanAndDoesNotEndIsNamed(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, builder.Recovery(func(r *v1alpha1.Recovery) { r.ForceAfterSeconds = ptr.To[int32](20) }))
	ending := builder.Pending("worker", 1, builder.Life(0, 0), builder.Waiting("ContainerCreating", ""), builder.On("n1"), builder.DeletedAt(30*second))
	next := after(t, builder.Snapshot(job, builder.Running("worker", 0), ending))
	for at, want := range map[time.Duration]string{50 * second: "j-worker-1 on n1 has been terminating", 79 * second: "j-worker-1 on n1"} {
		p := plan.Make(builder.Snapshot(next, builder.Running("worker", 0), ending, builder.Now(at)))
		if p.Status.Reason != v1alpha1.ReasonFormerPodsEnding || !strings.Contains(p.Status.Message, want) {
			t.Errorf("at %v the job is %s (%s): %s", at, p.Status.Phase, p.Status.Reason, p.Status.Message)
		}
	}
	p := plan.Make(builder.Snapshot(next, builder.Running("worker", 0), ending, builder.Now(80*second)))
	if got := lines(p.Steps); len(got) != 1 || got[0] != "delete by force j-worker-1: its life is past" {
		t.Errorf("after forceAfterSeconds: %v", got)
	}
	patient := next.DeepCopy()
	patient.Spec.Recovery.ForceAfterSeconds = nil
	p = plan.Make(builder.Snapshot(patient, builder.Running("worker", 0), ending, builder.Now(90*second)))
	if !strings.Contains(p.Status.Message, "kubectl delete pod j-worker-1") || p.Status.Reason != v1alpha1.ReasonPodNotEnding {
		t.Errorf("30 s after its grace period: %s: %s", p.Status.Reason, p.Status.Message)
	}
}

// The message names any object that delays the end of a suspension.
func TestASuspensionThatDoesNotEndNamesWhatItWaitsFor(t *testing.T) {
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), created, suspended)
	group := func(s *state.Observed) {
		s.Gang.Groups = []state.Group{{Scheduler: v1alpha1.GangNative, Name: "j-0", UID: "g", Deleted: builder.Epoch.Add(30 * second)}}
	}
	for want, seen := range map[string]builder.SnapshotOption{
		"The pod group j-0 of Native": group,
		"j-worker-0 on n1":            builder.Running("worker", 0, builder.On("n1"), builder.DeletedAt(30*second)),
	} {
		p := plan.Make(builder.Snapshot(job, seen, builder.Now(600*second)))
		stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		if !strings.Contains(p.Status.Message, want) || stalled == nil || !strings.Contains(stalled.Message, want) {
			t.Errorf("the message is %q and the job is stalled: %v; want %s named", p.Status.Message, stalled, want)
		}
	}
}

// The next pod hangs in ContainerCreating while a lost node holds the volume.
func TestAVolumeOnALostNodeIsNamed(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), created, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0:1"}))
	p := plan.Make(builder.Snapshot(job, builder.NodeLost("n1", 0), builder.Now(600*second),
		builder.Running("worker", 0, builder.Life(0, 0), builder.On("n1"), builder.Claiming(), builder.Fenced(), builder.DeletedAt(30*second)),
		builder.Pending("worker", 0, builder.Waiting("ContainerCreating", ""), builder.On("n2"), builder.Claiming())))
	if !strings.Contains(p.Status.Message, "kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute") {
		t.Errorf("the job is %s (%s): %s", p.Status.Phase, p.Status.Reason, p.Status.Message)
	}
}

func TestAPodThatDoesNotEndIsDeletedByForceIfTheUserSaysSo(t *testing.T) {
	impatient := builder.Recovery(func(r *v1alpha1.Recovery) { r.ForceAfterSeconds = ptr.To[int32](20) })
	job := builder.Job("j", builder.Workers(2), impatient, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	ending := builder.Deleted("worker", 1, builder.Life(0, 0), builder.DeletedAt(30*second))
	force := []string{"delete by force j-worker-1: its life is past"}
	checkSteps(t, []stepCase{
		{"not before", job, seen(builder.Running("worker", 0), ending, builder.Now(79*second)), nil, 80 * second},
		{"then", job, seen(builder.Running("worker", 0), ending, builder.Now(80*second)), force, 90 * second},
		{"never while it holds a volume", job, seen(builder.Running("worker", 0), builder.Deleted("worker", 1, builder.Life(0, 0), builder.DeletedAt(30*second),
			builder.Claiming()), builder.Now(100*second)), nil, 0},
	})
}

func TestAFailedPodThatIsNotRemovedIsDeletedAgain(t *testing.T) {
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	failed := builder.Failed("worker", 0, builder.Exit(1), builder.DeletedAt(20*second))
	checkSteps(t, []stepCase{{"30 s later", builder.Job("j", builder.Workers(1), builder.Suspended(), suspended), seen(failed),
		[]string{"delete by force j-worker-0: the job is suspended"}, 0}})
}

func TestAFormerJobsPodOnALostNodeGivesItsNameFree(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	onLost := []builder.PodOption{builder.On("n"), builder.DeletedAt(20 * second)}
	lost := builder.NodeLost("n", 30*second) // from 45 s on
	checkSteps(t, []stepCase{
		{"it is deleted by force, as its job is gone", job, seen(builder.FormerJobPod(onLost...), lost),
			[]string{"delete by force j-worker-1: it belongs to an earlier job of the same name, on a lost node"}, 80 * second},
		{"before the node is lost it is waited for", job, seen(builder.FormerJobPod(onLost...), lost, builder.Now(44*second)), nil, 45 * second},
		{"one that holds a volume is waited for", job, seen(builder.FormerJobPod(append(onLost, builder.Claiming())...), lost), nil, 80 * second},
	})
	p := plan.Make(builder.Snapshot(job, builder.FormerJobPod(onLost...)))
	if !strings.Contains(p.Status.Message, "j-worker-1 on n has been terminating") {
		t.Errorf("the message is %q", p.Status.Message)
	}
}

// A pod that has ended still holds its name while it has a finalizer, and only the owner of that finalizer can remove it.
func TestAFormerJobsPodThatAFinalizerKeepsIsNamedWithIt(t *testing.T) {
	kept := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Finalizers = corev1.PodFailed, []string{"example.com/hold", "example.com/more"}
	})
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created)
	p := plan.Make(builder.Snapshot(job, builder.FormerJobPod(builder.On("n"), kept, builder.DeletedAt(20*second)), builder.Now(600*second)))
	stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
	if want := "example.com/hold, example.com/more"; stalled == nil || stalled.Status != "True" || !strings.Contains(stalled.Message, want) || !strings.Contains(p.Status.Message, want) {
		t.Errorf("the message is %q and the job is stalled: %v; want %s named", p.Status.Message, stalled, want)
	}
}

// Only the owner of a finalizer can end such a pod, so to delete it with each plan is for nothing.
func TestAPodThatWasDeletedByForceIsNotSoAgainAtOnce(t *testing.T) {
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	forced := func(o *state.Observed) { o.Pods[0].ForceNext = builder.Epoch.Add(110 * second) }
	job, failed := builder.Job("j", builder.Workers(1), builder.Suspended(), suspended), builder.Failed("worker", 0, builder.Exit(1), builder.DeletedAt(20*second))
	checkSteps(t, []stepCase{
		{"it waits", job, seen(failed, forced), nil, 110 * second},
		{"then it is", job, seen(failed, forced, builder.Now(110*second)), []string{"delete by force j-worker-0: the job is suspended"}, 0},
	})
}
