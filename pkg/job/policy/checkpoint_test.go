package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// training is a job of two ranks that have run since 0 s and get 10 s to save a checkpoint before they are stopped.
func training(options ...builder.JobOption) *v1alpha1.TrainingJob {
	return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), builder.StartedAt(0), builder.RunsSince(0),
		builder.Asking(10)}, options...)...)
}

func TestRanksThatAreWellAreAskedBeforeTheyAreStopped(t *testing.T) {
	wantsRestart := func(job *v1alpha1.TrainingJob) { job.Annotations = map[string]string{"trainingjob.dev/restart": "1"} }
	silent := builder.Asking(0)
	running := builder.Running("worker", 1)
	starting := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), builder.Asking(10), builder.Suspended())
	drained := func(options ...builder.PodOption) builder.SnapshotOption {
		return builder.Deleted("worker", 1, append([]builder.PodOption{builder.Disrupted("EvictionByEvictionAPI", 18*second), builder.DeletedAt(18 * second)}, options...)...)
	}
	for name, c := range map[string]struct {
		job *v1alpha1.TrainingJob
		// other is worker 1, beside the running worker 0; answer is the id in the Lease.
		other  builder.SnapshotOption
		answer string
		want   policy.Kind
		// asks is whether the request stands; wake is its deadline.
		asks bool
		wake time.Duration
	}{
		"a suspension":                          {training(builder.Suspended()), running, "", policy.Hold, true, 30 * second},
		"a suspension, asked for a while":       {training(builder.Suspended(), builder.CheckpointRequested(15*second)), running, "", policy.Hold, true, 25 * second},
		"a suspension, answered":                {training(builder.Suspended(), builder.CheckpointRequested(15*second)), running, "0-1", policy.Suspend, false, 0},
		"a suspension, another's answer":        {training(builder.Suspended(), builder.CheckpointRequested(15*second)), running, "0-0", policy.Hold, true, 25 * second},
		"a suspension, no answer":               {training(builder.Suspended(), builder.CheckpointRequested(10*second)), running, "", policy.Suspend, false, 0},
		"a suspension of a job that is silent":  {training(builder.Suspended(), silent), running, "", policy.Suspend, false, 0},
		"a suspension of a job that starts":     {starting, builder.Pending("worker", 1), "", policy.Suspend, false, 0},
		"a suspension after a failure":          {training(builder.Suspended(), builder.CheckpointRequested(15*second)), builder.Failed("worker", 1, builder.Exit(137)), "", policy.Suspend, false, 0},
		"a suspension that is taken back":       {training(builder.CheckpointRequested(15 * second)), running, "", policy.Continue, false, 0},
		"a restart that is requested":           {training(wantsRestart), running, "", policy.Hold, true, 30 * second},
		"a restart that is requested, answered": {training(wantsRestart, builder.CheckpointRequested(15*second)), running, "0-1", policy.Restart, false, 0},
		"a drain":                               {training(), drained(), "", policy.Hold, true, 30 * second},
		"a drain, answered":                     {training(builder.CheckpointRequested(19 * second)), drained(), "0-1", policy.Restart, false, 0},
		"a drain that gives no time":            {training(builder.CheckpointRequested(19 * second)), drained(builder.DeletedAt(-15 * second)), "", policy.Restart, false, 0},
		"a drain whose rank has ended":          {training(builder.CheckpointRequested(19 * second)), drained(builder.Exit(143)), "", policy.Restart, false, 0},
		"a suspension, one rank made before":    {training(builder.Suspended()), builder.Running("worker", 1, builder.MadeWith("LEASE")), "", policy.Suspend, false, 0},
		"a suspension, an evaluator crashed":    {training(builder.Suspended(), builder.Evaluators(1)), builder.Failed("evaluator", 0, builder.Exit(1)), "", policy.Hold, true, 30 * second},
		"a restart, an evaluator crashed":       {training(wantsRestart, builder.CheckpointRequested(15*second), builder.Evaluators(1)), builder.Failed("evaluator", 0, builder.Exit(1)), "", policy.Restart, true, 0},
		"a suspension, an evaluator is going":   {training(builder.Suspended(), builder.Evaluators(1)), builder.Deleted("evaluator", 0, builder.DeletedAt(-12*second)), "", policy.Hold, true, 30 * second},
		"a kill":                                {training(), builder.Failed("worker", 1, builder.Exit(137)), "", policy.Restart, false, 0},
	} {
		v := policy.Judge(builder.Snapshot(c.job, builder.Now(20*second), builder.Running("worker", 0), running, c.other, builder.SavedFor(c.answer)))
		if v.Kind != c.want || (v.Asked != nil) != c.asks {
			t.Errorf("%s: ruling %d (%s), asked %+v, want %d and asked %t", name, v.Kind, v.Message, v.Asked, c.want, c.asks)
		}
		if at := builder.Time(c.wake); c.wake > 0 && !v.Wake.Equal(at.Time) {
			t.Errorf("%s: wakes at %v, want %v", name, v.Wake, at)
		}
		if c.asks && v.Kind == policy.Hold && (v.Reason != v1alpha1.ReasonCheckpointRequested || !strings.Contains(v.Message, "save a checkpoint")) {
			t.Errorf("%s: got %s: %s", name, v.Reason, v.Message)
		}
	}
}

func TestAJobThatSucceedsWhileItsRanksAreAskedHasSucceeded(t *testing.T) {
	job := training(builder.Suspended(), builder.CheckpointRequested(15*second))
	v := policy.Judge(builder.Snapshot(job, builder.Now(20*second), builder.Succeeded("worker", 0), builder.Running("worker", 1)))
	if v.Kind != policy.Succeed || v.Asked != nil {
		t.Errorf("ruling %d (%s), asked %+v, want success", v.Kind, v.Message, v.Asked)
	}
}

// Rank 0 answers requests.
func TestNoCheckpointIsRequestedWhenRank0HasEnded(t *testing.T) {
	backsOff := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{NextStarts: fmt.Sprintf("0:%d", builder.Epoch.Add(100*second).Unix())})
	for name, c := range map[string]struct {
		more  builder.JobOption
		rank0 builder.SnapshotOption
	}{"it has succeeded": {builder.AllWorkers(), builder.Succeeded("worker", 0)}, "it waits in its back-off": {backsOff, builder.Recorded(0)}} {
		job := training(builder.Framework(v1alpha1.Custom), builder.Suspended(), builder.AllWorkers(), c.more)
		if v := policy.Judge(builder.Snapshot(job, builder.Now(20*second), c.rank0, builder.Running("worker", 1))); v.Kind != policy.Suspend || v.Asked != nil {
			t.Errorf("%s: ruling %d (%s), asked %+v, want a suspension at once", name, v.Kind, v.Message, v.Asked)
		}
	}
}

// One request stands until it is answered, whatever else stops the ranks meanwhile.
func TestOneRequestIsEnoughForAllThatStopsTheRanks(t *testing.T) {
	job := training(builder.Suspended(), builder.CheckpointRequested(15*second))
	v := policy.Judge(builder.Snapshot(job, builder.Now(18*second), builder.Running("worker", 0), builder.Running("worker", 1)))
	if v.Asked == nil || *v.Asked != *job.Status.CheckpointRequest {
		t.Errorf("requests %+v, want the earlier request", v.Asked)
	}
}

func TestRanksAreAskedBeforeSomeAreTakenAway(t *testing.T) {
	three := []builder.SnapshotOption{builder.Now(20 * second), builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2)}
	v := policy.Judge(builder.Snapshot(training(builder.Elastic(1, 3)), three...))
	if v.Kind != policy.Hold || v.Asked == nil || v.Asked.Reason != v1alpha1.ReasonScaledIn {
		t.Errorf("ruling %d (%s), asked %+v, want a request because the job has fewer replicas", v.Kind, v.Message, v.Asked)
	}
	v = policy.Judge(builder.Snapshot(training(builder.Elastic(1, 3), builder.CheckpointRequested(15*second)), append(three, builder.SavedFor("0-1"))...))
	if v.Kind != policy.Continue || v.Asked != nil {
		t.Errorf("ruling %d (%s), asked %+v, want no further request", v.Kind, v.Message, v.Asked)
	}
}

// The operator limits how long ranks may delay their stop: a preemptor gets the job's nodes.
func TestTheOperatorBoundsHowLongRanksMaySave(t *testing.T) {
	const bound = " The operator limits progress.checkpointGraceSeconds to 30s."
	for name, c := range map[string]struct {
		asks      int32
		most      time.Duration
		want      policy.Kind
		wake      time.Duration
		isBounded bool
	}{
		"a job that needs less":  {20, 30 * second, policy.Hold, 40 * second, false},
		"for as long":            {30, 30 * second, policy.Hold, 50 * second, false},
		"for an hour":            {3600, 30 * second, policy.Hold, 50 * second, true},
		"where no rank may save": {3600, 0, policy.Suspend, 0, false},
	} {
		job := training(builder.Suspended(), builder.Asking(c.asks))
		most := func(o *state.Observed) { o.MaxCheckpointWait = c.most }
		v := policy.Judge(builder.Snapshot(job, builder.Now(20*second), builder.Running("worker", 0), builder.Running("worker", 1), most))
		if v.Kind != c.want || strings.Contains(v.Message, bound) != c.isBounded {
			t.Errorf("%s: ruling %d (%s), want %d, bounded %t", name, v.Kind, v.Message, c.want, c.isBounded)
		}
		if at := builder.Time(c.wake); c.wake > 0 && (!v.Wake.Equal(at.Time) || !v.Asked.DeadlineTime.Equal(&at)) {
			t.Errorf("%s: wakes at %v, asks %+v, want both at %v", name, v.Wake, v.Asked, at)
		}
	}
}
