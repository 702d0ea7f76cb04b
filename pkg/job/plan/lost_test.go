package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

const lostNode = "node-worker-1" // the node of worker-1

// The history of a lost pod: first the status, then the fence and the deletion, then the next life, while the old object still
// exists.
func TestALostPodIsFencedBeforeItIsReplaced(t *testing.T) {
	others := seen(builder.Running("worker", 0), builder.Running("worker", 2))
	job := underWay(t, takenOn(t, builder.Workers(3)), append(others, builder.Running("worker", 1))...)
	past, uid := builder.Life(0, 0), "uid-j-worker-1"
	expect := func(what string, now time.Duration, want []string, wake time.Duration, more ...builder.SnapshotOption) {
		t.Helper()
		s := builder.Snapshot(job, append(append(more, builder.NodeLost(lostNode, 20*second), builder.Now(now)), others...)...)
		p := plan.Make(s)
		if diff := cmp.Diff(want, lines(p.Steps)); diff != "" || wakeOf(p) != wake {
			t.Errorf("%s: wakes at %v, want %v; steps (-want +got):\n%s", what, wakeOf(p), wake, diff)
		}
		job = after(t, s)
	}
	replacement := []string{"create j-worker-1-a0r1"}
	expect("the node is in trouble", 34*second, nil, 35*second, builder.Running("worker", 1))
	expect("it is lost: that is written", 35*second, nil, 0, builder.Running("worker", 1))
	if got := job.Status.Memory.Roles[v1alpha1.Worker]; got.Replacements != "1:1" || job.Status.Restarts != 1 || job.Status.ChargedRestarts != 0 {
		t.Errorf("replacements %q, %d restarts, %d charged", got.Replacements, job.Status.Restarts, job.Status.ChargedRestarts)
	}
	expect("its pod is fenced and deleted", 36*second, []string{"fence j-worker-1, " + uid, "delete j-worker-1: its life is past"}, 0,
		builder.Running("worker", 1, past))
	expect("it is deleted, the fence does not show yet", 37*second, []string{"fence j-worker-1, " + uid}, 0, builder.Deleted("worker", 1, past, builder.DeletedAt(36*second)))
	expect("it is fenced: the next life comes", 38*second, replacement, 66*second, builder.Deleted("worker", 1, past, builder.Fenced(), builder.DeletedAt(36*second)))
	next := builder.Running("worker", 1, builder.Life(0, 1), builder.On("other"))
	expect("30 s later it is deleted by force", 66*second, []string{"delete by force j-worker-1: its life is past"}, 0,
		next, builder.Deleted("worker", 1, past, builder.Fenced(), builder.DeletedAt(36*second)))
	expect("and gone", 67*second, nil, 0, next)
}

func TestForce(t *testing.T) {
	replaced := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), replaced)
	others := seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.On("other")))
	old := func(options ...builder.PodOption) []builder.SnapshotOption {
		return append(others, builder.Deleted("worker", 1, append(options, builder.Life(0, 0), builder.DeletedAt(20*second))...))
	}
	lost := builder.NodeLost(lostNode, 10*second)
	force := []string{"delete by force j-worker-1: its life is past"}
	checkSteps(t, []stepCase{
		{"a pod that was deleted 30 s ago on a lost node is deleted by force", job, append(old(builder.Fenced()), lost), force, 0},
		{"one that holds a claim never is", job, append(old(builder.Fenced(), builder.Claiming()), lost, builder.Now(time.Hour)), nil, 0},
		{"one that is not fenced is fenced first", job, append(old(), lost), []string{"fence j-worker-1, uid-j-worker-1"}, 0},
		{"one on a node that is well is left to it", job, append(old(builder.Fenced()), builder.Now(time.Hour)), nil, 0},
		{"the 30 s begin when the node is lost", job, append(old(builder.Fenced()), builder.NodeLost(lostNode, 20*second)), nil, 65 * second},
		{"a node in trouble that is not lost yet is left to it", job, append(old(builder.Fenced()), builder.NodeLost(lostNode, 50*second)), nil, 65 * second},
	})
}

func TestANewAttemptDoesNotWaitForALostPod(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.Attempt(1), builder.StartedAt(0))
	past, lost := builder.Life(0, 0), builder.NodeLost(lostNode, 30*second)
	create := []string{"create j-worker-0-a1r0", "create j-worker-1-a1r0"}
	checkSteps(t, []stepCase{
		{"until it is fenced it does", job, seen(builder.Deleted("worker", 1, past), lost), []string{"fence j-worker-1, uid-j-worker-1"}, 0},
		{"then it does not", job, seen(builder.Deleted("worker", 1, past, builder.Fenced(), builder.DeletedAt(40*second)), lost), create, 75 * second},
		{"unless the node comes back", job, seen(builder.Deleted("worker", 1, past, builder.Fenced())), nil, 90 * second},
	})
}

func TestSuspensionAndCleanUpOfLostPods(t *testing.T) {
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	suspended := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Suspended(), resting)
	resumed := builder.Job("j", builder.Workers(2), builder.StartedAt(0), resting)
	finished := builder.Job("j", builder.Workers(2), builder.StartedAt(0), finished(v1alpha1.ReasonLeaderSucceeded))
	lost, running := builder.NodeLost(lostNode, 10*second), builder.Running("worker", 1)
	ending := builder.Deleted("worker", 1, builder.Fenced(), builder.DeletedAt(40*second))
	fence := "fence j-worker-1, uid-j-worker-1"
	checkSteps(t, []stepCase{
		{"suspension fences a lost pod and deletes it", suspended, seen(running, lost), []string{fence, "delete j-worker-1: the job is suspended"}, 0},
		{"and deletes it by force", suspended, seen(ending, lost, builder.Now(70*second)), []string{"delete by force j-worker-1: the job is suspended"}, 0},
		{"the job waits to resume until a lost pod is fenced", resumed, seen(running, lost), []string{fence, "delete j-worker-1: the job is suspended"}, 0},
		{"the end of a job does the same", finished, seen(running, lost), []string{fence, "delete j-worker-1: the job has finished"}, 0},
		{"and by force", finished, seen(ending, lost, builder.Now(70*second)), []string{"delete by force j-worker-1: the job has finished"}, 0},
	})
	resumes := plan.Make(builder.Snapshot(resumed, ending, lost)).Status
	if isSuspended := resumes.Phase == v1alpha1.PhaseSuspended; isSuspended || resumes.ReplicaStatuses[v1alpha1.Worker].Active != 0 {
		t.Errorf("a job with a pod on a lost node stays suspended: %t, with %d active", isSuspended, resumes.ReplicaStatuses[v1alpha1.Worker].Active)
	}
}

func TestALostPodIsNeitherActiveNorReady(t *testing.T) {
	job := underWay(t, takenOn(t, builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1))
	for name, c := range map[string]struct {
		pod           builder.SnapshotOption
		active, ready int32
	}{
		"until it is fenced it may act": {builder.Running("worker", 1), 2, 1},
		"fenced it may not":             {builder.Running("worker", 1, builder.Fenced()), 1, 1},
	} {
		got := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), c.pod, builder.NodeLost(lostNode, 20*second))).Status.ReplicaStatuses[v1alpha1.Worker]
		if got.Active != c.active || got.Ready != c.ready {
			t.Errorf("%s: %d active, %d ready, want %d and %d", name, got.Active, got.Ready, c.active, c.ready)
		}
	}
}

// A pod that is created while a node is lost excludes it, and no pod waits for a node that is well.
func TestNewPodsExcludeLostNodes(t *testing.T) {
	others := seen(builder.Running("worker", 0), builder.Running("worker", 2))
	job := underWay(t, takenOn(t, builder.Workers(3)), append(others, builder.Running("worker", 1))...)
	job = after(t, builder.Snapshot(job, append(others, builder.Running("worker", 1), builder.NodeLost(lostNode, 20*second), builder.Now(35*second))...))
	ending := builder.Deleted("worker", 1, builder.Life(0, 0), builder.Fenced(), builder.DeletedAt(36*second))
	steps := plan.Make(builder.Snapshot(job, append(others, ending, builder.NodeLost(lostNode, 20*second), builder.Now(38*second))...)).Steps
	create, is := steps[0].(plan.CreatePod)
	if !is || !slices.Equal(create.Placement.Excluded, []string{lostNode}) {
		t.Fatalf("the steps are %v, want a pod that excludes %s", steps, lostNode)
	}
	waiting := builder.Pending("worker", 1, builder.Life(0, 1), builder.Edit(func(pod *corev1.Pod) {
		pod.CreationTimestamp, pod.Spec.NodeName = builder.Time(38*second), ""
		pod.Annotations = map[string]string{v1alpha1.AnnotationExcludedNodes: lostNode}
	}))
	lost := builder.NodeLost(lostNode, 20*second)
	twice := builder.Pending("worker", 1, builder.Life(0, 1), builder.Edit(func(pod *corev1.Pod) {
		pod.CreationTimestamp, pod.Spec.NodeName = builder.Time(38*second), ""
		pod.Annotations = map[string]string{v1alpha1.AnnotationExcludedNodes: lostNode + ",another"}
	}))
	isNew := "delete j-worker-1-a0r1: the nodes that it excludes are back"
	checkSteps(t, []stepCase{
		{"while the node is lost it waits", job, append(others, waiting, ending, lost, builder.Now(60*second)), nil, 66 * second},
		{"when it is back, it may find another one", job, append(others, waiting, builder.Now(60*second)), nil, 68 * second},
		{"when one of two is back, it does not wait for the other", job,
			append(others, twice, ending, lost, builder.Now(68*second)), []string{"delete by force j-worker-1: its life is past", isNew}, 0},
		{"it is created again in the same life", job, append(others, waiting, builder.Now(68*second)), []string{isNew}, 0},
	})
}
