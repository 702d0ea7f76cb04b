package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/builder"
)

func inARow(n int32) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.ConsecutiveRestarts = n })
}

func TestBackOffDoublesUpToItsLimit(t *testing.T) {
	cases := []struct {
		name        string
		first, most int
		want        []time.Duration // for 0, 1, 2 ... restarts in a row
	}{
		{"the default", 5, 300, []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300}},
		{"no back-off", 0, 300, []time.Duration{0, 0, 0}},
		{"first and limit the same", 7, 7, []time.Duration{7, 7, 7}},
		{"the longest", 86400, 86400, []time.Duration{86400, 86400}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for row, seconds := range c.want {
				job := builder.Job("j", builder.Workers(2), builder.BackOff(c.first, c.most), inARow(int32(row)))
				got := judge(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(1))))
				if got.Wait != seconds*second {
					t.Errorf("after %d restarts in a row the wait is %v, want %v", row, got.Wait, seconds*second)
				}
			}
		})
	}
}

func TestTenThousandRestartsInARowDoNotOverflowTheBackOff(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), inARow(10_000), builder.MaxRestarts(10_000))
	if got := judge(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(1)))); got.Wait != 300*second {
		t.Errorf("the wait is %v, want 5m", got.Wait)
	}
}

func TestTheFirstLostPodIsReplacedAtOnceAndTheNextNot(t *testing.T) {
	for row, want := range []time.Duration{0, 10 * second, 20 * second} {
		job := builder.Job("j", builder.Workers(2), inARow(int32(row)))
		if got := judge(builder.Snapshot(job, builder.Deleted("worker", 1))); got.Wait != want {
			t.Errorf("after %d restarts in a row a lost pod waits %v, want %v", row, got.Wait, want)
		}
	}
}

func TestTenCalmMinutesResetTheBackOff(t *testing.T) {
	const calm = 10 * time.Minute
	next := func(d time.Duration) builder.JobOption {
		return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = builder.TimePtr(d) })
	}
	runs := func(is bool) builder.JobOption {
		return builder.Condition(v1alpha1.ConditionRunning, is, v1alpha1.ReasonAllReplicasRunning, 0)
	}
	cases := []struct {
		name string
		job  []builder.JobOption
		now  time.Duration
		want int32
	}{
		{"a second before", []builder.JobOption{runs(true)}, calm - second, 4},
		{"after them", []builder.JobOption{runs(true)}, calm, 0},
		{"a job that does not run does not calm down", []builder.JobOption{runs(false)}, 10 * calm, 4},
		{"a job that never ran does not calm down", nil, 10 * calm, 4},
		{"a replica replaced since then starts them anew", []builder.JobOption{runs(true), next(calm)}, 2*calm - second, 4},
		{"ten minutes after a replica was replaced", []builder.JobOption{runs(true), next(calm)}, 2 * calm, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(2), inARow(4))...), builder.Now(c.now))
			if diff := cmp.Diff(c.want, policy.ConsecutiveRestarts(s)); diff != "" {
				t.Errorf("restarts in a row (-want +got):\n%s", diff)
			}
		})
	}
}
