package budget_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const second = time.Second

// of is an incident of a worker.
func of(index int32, cause v1alpha1.Cause, scope v1alpha1.RestartScope) *failure.Restart {
	f := v1alpha1.Failure{Role: v1alpha1.Worker, Index: index, Cause: cause}
	return &failure.Restart{Incident: v1alpha1.Incident{Failure: f, Scope: scope}}
}

// waits returns for how long the restart for the incident waits.
func waits(s *state.Snapshot, restart *failure.Restart) time.Duration {
	_, next := budget.Backoff(s, restart)
	return next.Sub(s.Now)
}

// A failed and a lost replica wait equally long. After a request and after a completed program the waits begin with 1 s, whatever
// backoffSeconds is.
func TestBackOffDoublesUpToItsLimit(t *testing.T) {
	failures := []v1alpha1.Cause{v1alpha1.CauseRetryable, v1alpha1.CauseInfrastructure}
	harmless := []v1alpha1.Cause{v1alpha1.CauseRequested, v1alpha1.CauseCompleted}
	for name, c := range map[string]struct {
		first, most int
		causes      []v1alpha1.Cause
		want        []time.Duration // in seconds, for 0, 1, 2 ... restarts in a row before
	}{
		"the default":              {5, 300, failures, []time.Duration{0, 5, 10, 20, 40, 80, 160, 300, 300, 300}},
		"0 does not turn it off":   {0, 300, failures, []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		"nor does a limit of 0":    {0, 0, failures, []time.Duration{0, 1, 1, 1}},
		"first and limit the same": {7, 7, failures, []time.Duration{0, 7, 7}},
		"the longest":              {86400, 86400, failures, []time.Duration{0, 86400, 86400}},
		"after no failure":         {30, 60, harmless, []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60}},
	} {
		for row, want := range c.want {
			job := builder.Job("j", builder.Workers(2), builder.BackOff(c.first, c.most), builder.RestartsInRow(int32(row)),
				builder.OwnRestartsInRow(row, 50*second))
			s := builder.Snapshot(job)
			for _, cause := range c.causes {
				for _, scope := range []v1alpha1.RestartScope{v1alpha1.ScopeJob, v1alpha1.ScopeReplica} {
					inRow, next := budget.Backoff(s, of(1, cause, scope))
					if got := next.Sub(s.Now); got != want*second || inRow != int32(row)+1 {
						t.Errorf("%s: restart %d in a row of scope %s for %s waits %v, want %ds", name, inRow, scope, cause, got, want)
					}
				}
			}
		}
	}
}

func TestTenThousandRestartsInARowDoNotOverflowTheBackOff(t *testing.T) {
	s := builder.Snapshot(builder.Job("j", builder.Workers(2), builder.RestartsInRow(10_000)))
	if got := waits(s, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeJob)); got != 300*second {
		t.Errorf("the wait is %v, want 5m", got)
	}
}

// The status keeps whole seconds: a wait of a second is not cut to a fraction.
func TestAWaitIsNotCutShortByRounding(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.BackOff(0, 300), builder.OwnRestartsInRow(1, 50*second))
	s := builder.Snapshot(job, builder.Now(60*second+time.Millisecond))
	_, next := budget.Backoff(s, of(1, v1alpha1.CauseInfrastructure, v1alpha1.ScopeReplica))
	if want := builder.Epoch.Add(62 * second); !next.Equal(want) {
		t.Errorf("it begins at %v, want %v", next, want)
	}
}

// Steady losses of others, or a peer that crashes again and again, never delay a replica that was lost. Ten calm minutes reset the back-off.
func TestTheBackOffIsThatOfTheReplicasThatRestart(t *testing.T) {
	own, whole := builder.OwnRestartsInRow(4, 50*second), builder.RestartsInRow(7)
	for name, c := range map[string]struct {
		job     builder.JobOption
		restart *failure.Restart
		now     time.Duration
		want    time.Duration
	}{
		"of a replica in its fifth restart in a row":              {own, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeReplica), 60 * second, 40 * second},
		"of that replica, a second before it ran for ten minutes": {own, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeReplica), 649 * second, 40 * second},
		"of that replica, after it ran for ten minutes":           {own, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeReplica), 650 * second, 0},
		"of another replica":                                      {own, of(2, v1alpha1.CauseInfrastructure, v1alpha1.ScopeReplica), 60 * second, 0},
		"of a replica after restarts of the whole job":            {whole, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeReplica), 60 * second, 0},
		"of the whole job after restarts of a replica":            {own, of(1, v1alpha1.CauseRetryable, v1alpha1.ScopeJob), 60 * second, 0},
		"of a role, all of which wait as long as the worst":       {own, of(2, v1alpha1.CauseRetryable, v1alpha1.ScopeRole), 60 * second, 40 * second},
		"of a replica that the job does not have any longer":      {own, of(9, v1alpha1.CauseRetryable, v1alpha1.ScopeReplica), 60 * second, 0},
	} {
		if got := waits(builder.Snapshot(builder.Job("j", builder.Workers(3), c.job), builder.Now(c.now)), c.restart); got != c.want {
			t.Errorf("the restart %s waits %v, want %v", name, got, c.want)
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
		{"a suspension, after which the job may have been mended",
			[]builder.JobOption{builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)}, second, 0},
		{"a replica that was replaced does not disturb them", []builder.JobOption{runs(true), builder.OwnRestartsInRow(2, calm-second)}, calm, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(2), builder.RestartsInRow(4))...), builder.Now(c.now))
			if diff := cmp.Diff(c.want, budget.JobRestartsInRow(s)); diff != "" {
				t.Errorf("restarts in a row (-want +got):\n%s", diff)
			}
		})
	}
}
