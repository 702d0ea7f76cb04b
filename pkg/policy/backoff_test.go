package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

func inARow(n int32) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.Memory.RestartsInRow = n })
}

// slotInARow makes worker-1 be in its n-th restart in a row, begun at the time; for 0 it remembers nothing.
func slotInARow(n int, at time.Duration) builder.JobOption {
	if n == 0 {
		return func(*v1alpha1.TrainingJob) {}
	}
	return builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{
		RestartsInRow: fmt.Sprintf("1:%d", n), NextStarts: fmt.Sprintf("1:%d", builder.Epoch.Add(at).Unix()),
	})
}

func TestBackOffDoublesUpToItsLimit(t *testing.T) {
	cases := []struct {
		name        string
		first, most int
		want        []time.Duration // for 0, 1, 2 ... restarts in a row
	}{
		{"the default", 5, 300, []time.Duration{0, 5, 10, 20, 40, 80, 160, 300, 300, 300}},
		{"0 does not turn it off", 0, 300, []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		{"nor does a limit of 0", 0, 0, []time.Duration{0, 1, 1, 1}},
		{"first and limit the same", 7, 7, []time.Duration{0, 7, 7}},
		{"the longest", 86400, 86400, []time.Duration{0, 86400, 86400}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for row, seconds := range c.want {
				options := []builder.JobOption{builder.Workers(2), builder.BackOff(c.first, c.most)}
				whole := builder.Job("j", append(options, pytorch, inARow(int32(row)))...)
				alone := builder.Job("j", append(options, slotInARow(row, 50*second))...)
				for _, job := range []*v1alpha1.TrainingJob{whole, alone} {
					for _, broken := range []builder.SnapshotOption{builder.Failed("worker", 1, builder.Exit(1)), builder.Deleted("worker", 1)} {
						if got := judge(builder.Snapshot(job, broken)); got.Wait != seconds*second {
							t.Errorf("after %d restarts in a row %v waits %v, want %v", row, got.Restarts, got.Wait, seconds*second)
						}
					}
				}
			}
		})
	}
}

func TestTenThousandRestartsInARowDoNotOverflowTheBackOff(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), inARow(10_000), builder.MaxRestarts(10_000))
	if got := judge(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(1)))); got.Wait != 300*second {
		t.Errorf("the wait is %v, want 5m", got.Wait)
	}
}

// The status keeps whole seconds: a wait of a second is not cut to a fraction.
func TestAWaitIsNotCutShortByRounding(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.BackOff(0, 300), slotInARow(1, 50*second))
	v := policy.Judge(builder.Snapshot(job, builder.Deleted("worker", 1), builder.Now(60*second+time.Millisecond)))
	if want := builder.Epoch.Add(62 * second); !v.Restarts[0].NextStart.Equal(want) {
		t.Errorf("it begins at %v, want %v", v.Restarts[0].NextStart, want)
	}
}

// Steady losses of others, or a peer that crashes again and again, never delay a replica that was lost.
func TestBackOffIsOfWhatIsRestarted(t *testing.T) {
	both := seen(builder.Failed("worker", 1, builder.Exit(1)), builder.Deleted("worker", 2, builder.DeletedAt(60*second)))
	cases := []struct {
		name string
		job  []builder.JobOption
		want []time.Duration // of worker-1 and worker-2, if they restart alone
	}{
		{"one in its fifth restart, one lost for the first time", []builder.JobOption{slotInARow(4, 50*second)}, []time.Duration{40, 0}},
		{"restarts of the whole job in a row do not hold back a replica", []builder.JobOption{inARow(7)}, []time.Duration{0, 0}},
		{"nor do a replica's the whole job", []builder.JobOption{pytorch, slotInARow(4, 50*second)}, []time.Duration{0}},
		{"of a role that is restarted as one all wait as long as the worst of it",
			[]builder.JobOption{builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole)), slotInARow(4, 50*second)}, []time.Duration{40}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(3))...), both...)
			v := policy.Judge(s)
			var got []time.Duration
			for _, o := range v.Restarts {
				got = append(got, o.NextStart.Sub(s.Now)/second)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("waits in seconds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTenCalmMinutesResetTheBackOffOfAReplica(t *testing.T) {
	for now, want := range map[time.Duration]time.Duration{649 * second: 20 * second, 650 * second: 0} {
		job := builder.Job("j", builder.Workers(2), slotInARow(3, 50*second))
		if got := judge(builder.Snapshot(job, builder.Deleted("worker", 1), builder.Now(now))); got.Wait != want {
			t.Errorf("at %v it waits %v, want %v", now, got.Wait, want)
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
		{"a second before, after a back-off", []builder.JobOption{runs(true), next(calm)}, 2*calm - second, 4},
		{"after them, after a back-off", []builder.JobOption{runs(true), next(calm)}, 2 * calm, 0},
		{"a replica that was replaced does not disturb them", []builder.JobOption{runs(true), slotInARow(2, calm-second)}, calm, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(2), inARow(4))...), builder.Now(c.now))
			if diff := cmp.Diff(c.want, budget.JobRestartsInRow(s)); diff != "" {
				t.Errorf("restarts in a row (-want +got):\n%s", diff)
			}
		})
	}
}
