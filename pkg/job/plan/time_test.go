package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// clocked is the part of a status about the job's time.
type clocked struct {
	Running   int64
	Suspended int64
	Ratio     string
}

// The history of a job's time: it starts, runs, restarts, is suspended, runs again and ends. The ratio is the running time over
// the time since the start without the suspension.
func TestTimeIsAddedUpOverAttemptsAndSuspensions(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(2)) // at 0 s
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	expect := func(what string, now int, want clocked, pods ...builder.SnapshotOption) {
		t.Helper()
		job = after(t, builder.Snapshot(job, append(pods, builder.Now(time.Duration(now)*second+300*time.Millisecond))...))
		ratio, _ := state.RunningTimeRatio(&job.Status, builder.Epoch.Add(time.Duration(now)*second))
		got := clocked{job.Status.RunningSeconds, job.Status.SuspendedSeconds, fmt.Sprintf("%.3f", ratio)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %d s (-want +got):\n%s", what, now, diff)
		}
	}
	expect("it starts", 10, clocked{0, 0, "0.000"}, builder.Pending("worker", 0), builder.Pending("worker", 1, builder.On("n")))
	expect("it runs", 20, clocked{0, 0, "0.000"}, running...)
	expect("nothing changes, nothing is written, and the ratio grows", 60, clocked{0, 0, "0.667"}, running...)
	expect("it restarts after 70 s, which is noticed 10 s later", 100, clocked{70, 0, "0.700"},
		builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.At(90*second)))
	expect("it runs again", 200, clocked{70, 0, "0.350"}, running...)
	job.Spec.Suspend = ptr.To(true)
	expect("it is suspended after 100 s more", 300, clocked{170, 0, "0.567"}, running...)
	job.Spec.Suspend = ptr.To(false)
	expect("its rest does not count", 1300, clocked{170, 1000, "0.567"})
	expect("it runs once more", 1400, clocked{170, 1000, "0.425"}, running...)
	expect("it ends", 1500, clocked{270, 1000, "0.540"}, builder.Succeeded("worker", 0), builder.Running("worker", 1))
	expect("what its pods do afterwards changes nothing", 5000, clocked{270, 1000, "0.540"}, builder.Succeeded("worker", 0))
}

// A job's time by what it was spent on, as each reconcile adds it up.
func TestLostTimeIsAddedUpByWhatTheJobWaitedFor(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(1), builder.Progress(86400, v1alpha1.StallNotify)) // at 0 s
	expect := func(what string, now int, want v1alpha1.LostSeconds, seen ...builder.SnapshotOption) {
		t.Helper()
		job = after(t, builder.Snapshot(job, append(seen, builder.Now(time.Duration(now)*second+300*time.Millisecond))...))
		if diff := cmp.Diff(want, job.Status.LostSeconds); diff != "" {
			t.Errorf("%s at %d s (-want +got):\n%s", what, now, diff)
		}
	}
	first, again, resumed := builder.Life(0, 0), builder.Life(1, 0), builder.Life(1, 1)
	at := func(step int64, s int) builder.SnapshotOption { return builder.Reported(step, time.Duration(s)*second) }
	expect("its pod has no node", 5, v1alpha1.LostSeconds{Starting: 5}, builder.Pending("worker", 0, first, builder.Unschedulable("no room")))
	expect("it has one", 25, v1alpha1.LostSeconds{Starting: 5, Nodes: 20}, builder.Pending("worker", 0, first, builder.On("n")))
	expect("it runs", 55, v1alpha1.LostSeconds{Starting: 35, Nodes: 20}, builder.Running("worker", 0, first))
	expect("it reports a step", 100, v1alpha1.LostSeconds{Starting: 35, Nodes: 20}, builder.Running("worker", 0, first), at(40, 100))
	expect("it failed 4 s ago", 204, v1alpha1.LostSeconds{Starting: 35, Nodes: 20, Detection: 4},
		builder.Failed("worker", 0, first, builder.Exit(1), builder.At(200*second)), at(40, 100))
	expect("the next pod is there", 214, v1alpha1.LostSeconds{Starting: 35, Nodes: 20, Detection: 4, Restart: 10}, builder.Pending("worker", 0, again, builder.On("n")), at(40, 100))
	expect("it runs again", 220, v1alpha1.LostSeconds{Starting: 41, Nodes: 20, Detection: 4, Restart: 10}, builder.Running("worker", 0, again), at(40, 100))
	expect("it is where its checkpoint was", 250, v1alpha1.LostSeconds{Starting: 41, Nodes: 20, Detection: 4, Restart: 10, Redone: 30}, builder.Running("worker", 0, again), at(30, 240))
	expect("it has got further than before", 300, v1alpha1.LostSeconds{Starting: 41, Nodes: 20, Detection: 4, Restart: 10, Redone: 80}, builder.Running("worker", 0, again), at(41, 300))
	job.Labels = map[string]string{v1alpha1.LabelQueue: "q"}
	job.Spec.Suspend = ptr.To(true)
	queued := v1alpha1.LostSeconds{Starting: 41, Nodes: 20, Detection: 4, Restart: 10, Redone: 80}
	expect("its queue suspends it", 400, queued, builder.Running("worker", 0, again), at(41, 300))
	job.Spec.Suspend, job.Finalizers = ptr.To(false), []string{v1alpha1.FinalizerQuota}
	queued.Queue = 600
	expect("its queue admits it", 1000, queued)
	expect("it runs once more", 1010, v1alpha1.LostSeconds{Queue: 600, Starting: 41, Nodes: 30, Detection: 4, Restart: 10, Redone: 80}, builder.Running("worker", 0, resumed), at(41, 300))
}

func TestAJobThatHasNotStartedHasNoRatio(t *testing.T) {
	got := takenOn(t, builder.Workers(1), builder.Suspended()).Status
	if ratio, ok := state.RunningTimeRatio(&got, builder.Epoch.Add(time.Hour)); ok || got.RunningSeconds != 0 {
		t.Errorf("ratio %v, ran %d s", ratio, got.RunningSeconds)
	}
}

// Deadlines for the start of an attempt count from its first pod. Replacements do not move them. A new attempt or a resumption does.
func TestTheFirstPodOfAnAttemptIsRemembered(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(2))
	created := func(index, replacement int, at time.Duration) builder.SnapshotOption {
		life := builder.Life(int(job.Status.Attempt), replacement)
		return builder.Pending("worker", index, life, builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(at) }))
	}
	expect := func(what string, want *time.Duration, pods ...builder.SnapshotOption) {
		t.Helper()
		job = after(t, builder.Snapshot(job, pods...))
		if got := job.Status.Memory.FirstPodTime; (got == nil) != (want == nil) || got != nil && got.Sub(builder.Epoch) != *want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("no pod is there", nil)
	expect("the first one is", ptr.To(10*second), created(1, 0, 20*second), created(0, 0, 10*second))
	expect("it is replaced", ptr.To(10*second), created(1, 0, 20*second), created(0, 1, 40*second))
	expect("the job restarts", nil, created(1, 0, 20*second), builder.Failed("worker", 0, builder.Exit(137)))
	expect("the next attempt has a pod", ptr.To(50*second), created(1, 0, 50*second))
	job.Spec.Suspend = ptr.To(true)
	expect("the job is suspended", nil, created(1, 0, 50*second))
}

// A failure that its node's clock puts into the future ends the run when the operator sees it.
func TestAClockThatIsAheadAddsNoRunningTime(t *testing.T) {
	job := underWay(t, takenOn(t, pytorch, builder.Workers(1)), builder.Running("worker", 0)) // since 10 s
	job = after(t, builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(137), builder.At(time.Hour)), builder.Now(100*second)))
	if got := job.Status.RunningSeconds; job.Status.Attempt != 1 || got != 90 {
		t.Errorf("attempt %d, ran %d s, want 90", job.Status.Attempt, got)
	}
}
