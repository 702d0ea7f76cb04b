package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/test/builder"
)

// clocked is what a status says of a job's time.
type clocked struct {
	Running   int64
	Suspended int64
	Ratio     string
}

// The story of a job's time: it starts, runs, restarts, rests, runs again and ends. What counts is the time it ran over the time
// since its start without its rest.
func TestTimeIsAddedUpOverAttemptsAndSuspensions(t *testing.T) {
	job := takenOn(t, pytorch, builder.Workers(2)) // at 0 s
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	tell := func(what string, now int, want clocked, pods ...builder.SnapshotOption) {
		t.Helper()
		job = after(t, builder.Snapshot(job, append(pods, builder.Now(time.Duration(now)*second+300*time.Millisecond))...))
		got := clocked{job.Status.RunningSeconds, job.Status.SuspendedSeconds, job.Status.RunningTimeRatio}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %d s (-want +got):\n%s", what, now, diff)
		}
	}
	tell("it starts", 10, clocked{0, 0, "0.000"}, builder.Pending("worker", 0), builder.Pending("worker", 1, builder.On("n")))
	tell("it runs", 20, clocked{0, 0, "0.000"}, running...)
	tell("nothing changes, and nothing is written", 60, clocked{0, 0, "0.000"}, running...)
	tell("it restarts after 70 s, which is noticed 10 s later", 100, clocked{70, 0, "0.700"},
		builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.At(90*second)))
	tell("it runs again", 200, clocked{70, 0, "0.350"}, running...)
	job.Spec.Suspend = ptr.To(true)
	tell("it is suspended after 100 s more", 300, clocked{170, 0, "0.567"}, running...)
	job.Spec.Suspend = ptr.To(false)
	tell("its rest does not count", 1300, clocked{170, 1000, "0.567"})
	tell("it runs once more", 1400, clocked{170, 1000, "0.425"}, running...)
	tell("it ends", 1500, clocked{270, 1000, "0.540"}, builder.Succeeded("worker", 0), builder.Running("worker", 1))
	tell("what its pods do afterwards changes nothing", 5000, clocked{270, 1000, "0.540"}, builder.Succeeded("worker", 0))
}

func TestAJobThatHasNotStartedHasNoRatio(t *testing.T) {
	if got := takenOn(t, builder.Workers(1), builder.Suspended()).Status; got.RunningTimeRatio != "" || got.RunningSeconds != 0 {
		t.Errorf("ratio %q, ran %d s", got.RunningTimeRatio, got.RunningSeconds)
	}
}
