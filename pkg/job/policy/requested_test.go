package policy_test

import (
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// requests is a job with a restart request, and with an earlier request that was answered.
func requests(words, answered string, options ...builder.JobOption) *v1alpha1.TrainingJob {
	job := builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), builder.StartedAt(0), builder.Attempt(3),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) {
			s.Memory.RestartRequest, s.Memory.RestartsInRow, s.NextStartTime = answered, 3, builder.TimePtr(0)
		})}, options...)...)
	job.Annotations = map[string]string{"trainingjob.dev/restart": words}
	return job
}

func TestARestartThatIsAskedFor(t *testing.T) {
	run := []builder.SnapshotOption{builder.Now(20 * second), builder.Running("worker", 0), builder.Running("worker", 1)}
	catchAll := builder.Recovery(func(r *v1alpha1.Recovery) {
		r.Rules = []v1alpha1.RecoveryRule{{Cause: v1alpha1.CauseFatal}}
	})
	long := strings.Repeat("世", 200)
	for name, c := range map[string]struct {
		job     *v1alpha1.TrainingJob
		pods    []builder.SnapshotOption
		ruling  policy.Kind
		cause   v1alpha1.Cause
		message string
	}{
		"for the first time": {requests("its loader hangs", ""), run, policy.Restart, v1alpha1.CauseRequested, "A user requested a restart (its loader hangs): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"once more":          {requests("2", "1"), run, policy.Restart, v1alpha1.CauseRequested, "A user requested a restart (2): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"and was answered":   {requests("1", "1"), run, policy.Continue, "", ""},
		"and is no more":     {requests("", "1"), run, policy.Continue, "", ""},
		"whatever the rules": {requests("1", "", catchAll), run, policy.Restart, v1alpha1.CauseRequested, "A user requested a restart (1): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"while one is broken": {requests("1", ""), []builder.SnapshotOption{builder.Now(40 * second), builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""))},
			policy.Restart, v1alpha1.CauseOOM, ""},
		"of a suspended job": {requests("1", "", builder.Suspended()), run, policy.Suspend, "", ""},
		"at great length":    {requests(long, ""), run, policy.Restart, v1alpha1.CauseRequested, "A user requested a restart (" + long[:255] + "): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"with marks that turn the line": {requests("a\u202eb\x1b[31m", ""), run, policy.Restart, v1alpha1.CauseRequested,
			"A user requested a restart (a b [31m): the whole job restarts as attempt 4, 1 more follows, not charged."},
	} {
		s := builder.Snapshot(c.job, c.pods...)
		v := policy.Judge(s)
		if v.Kind != c.ruling || c.cause != "" && (v.Failure == nil || v.Failure.Cause != c.cause) || c.message != "" && v.Message != c.message {
			t.Errorf("%s: ruling %d (%s), failure %+v, want %d for cause %q (%s)", name, v.Kind, v.Message, v.Failure, c.ruling, c.cause, c.message)
		}
		if c.cause != v1alpha1.CauseRequested || len(v.Restarts) != 1 {
			continue
		}
		i := v.Restarts[0]
		if i.Charged || i.Scope != v1alpha1.ScopeJob || !i.NextStart.Equal(s.Now.Add(4*second)) || i.InRow != 4 || i.Attempt != 3 || i.Pod+i.Node != "" {
			t.Errorf("%s: the incident %+v: want the whole job, after 4 s as it is the fourth in a row, for free, of attempt 3, and without a pod", name, i)
		}
	}
}

// Only the named replica restarts, or all that cannot go on without it. A name of no role is the user's reason.
func TestARestartOfOneReplicaThatIsAskedFor(t *testing.T) {
	tensorflow := func(job *v1alpha1.TrainingJob) {
		job.Spec.Framework = v1alpha1.TensorFlow
		builder.PS(1)(job)
	}
	run := []builder.SnapshotOption{builder.Now(20 * second), builder.Running("worker", 0, builder.Life(3, 0)), builder.Running("worker", 1, builder.Life(3, 0))}
	gone := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "1"})
	for name, c := range map[string]struct {
		words   string
		options []builder.JobOption
		pods    []builder.SnapshotOption
		message string
	}{
		"a rank": {"worker-1: slow disk", nil, run, "A user requested a restart of worker-1 (slow disk): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"one that others can do without": {"worker-1: slow disk", []builder.JobOption{tensorflow}, run,
			"A user requested a restart of worker-1 (slow disk): only this replica is replaced, not charged."},
		"a role": {"worker-1: slow disk", []builder.JobOption{builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole))}, run,
			"A user requested a restart of worker-1 (slow disk): all replicas of role Worker restart, 1 more follows, not charged."},
		"without a reason":             {"worker-1", []builder.JobOption{tensorflow}, run, "A user requested a restart of worker-1: only this replica is replaced, not charged."},
		"one that starts":              {"worker-1", []builder.JobOption{tensorflow}, append(run[:2:2], builder.Pending("worker", 1, builder.Life(3, 0))), "A user requested a restart of worker-1: only this replica is replaced, not charged."},
		"no role":                      {"node-7: is slow", nil, run, "A user requested a restart (node-7: is slow): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"a pod":                        {"worker-1-a3r0: slow", nil, run, "A user requested a restart (worker-1-a3r0: slow): the whole job restarts as attempt 4, 1 more follows, not charged."},
		"of a role that the job lacks": {"evaluator-0: slow", nil, run, ""},
		"none of the job":              {"worker-2: slow disk", nil, run, ""},
		"one without a pod yet":        {"worker-1: slow disk", nil, run[:2], ""},
		"one that was given up, whose pod is gone": {"evaluator-0: again", []builder.JobOption{tensorflow, builder.Evaluators(1), builder.Remember(v1alpha1.Evaluator, v1alpha1.RoleMemory{GivenUp: "0"})}, run,
			"A user requested a restart of evaluator-0 (again): only this replica is replaced, not charged."},
		"one that has succeeded": {"worker-1: slow disk", []builder.JobOption{tensorflow, gone}, run[:2], ""},
		"one whose pod is ending and has never run": {"worker-1: slow disk", nil,
			append(run[:2:2], builder.Pending("worker", 1, builder.Life(3, 0), builder.DeletedAt(19*second))), ""},
	} {
		v := policy.Judge(builder.Snapshot(requests(c.words, "", c.options...), c.pods...))
		if (v.Kind == policy.Restart) != (c.message != "") || v.Message != c.message && c.message != "" {
			t.Errorf("%s: ruling %d (%s), want %q", name, v.Kind, v.Message, c.message)
			continue
		}
		for _, i := range v.Restarts {
			if i.Charged || i.Cause != v1alpha1.CauseRequested || v.Accounts.LastFailure != nil || len(v.Accounts.AvoidedNodes) > 0 {
				t.Errorf("%s: incident %+v, accounts %+v: want no failure, and no node to avoid", name, i, v.Accounts)
			}
		}
	}
}

// Nothing failed: the last true failure, and the pod that is kept for its log, stay.
func TestARestartThatIsAskedForIsNoFailure(t *testing.T) {
	before := &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-1-a2r0"}
	job := requests("again", "", builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.LastFailure = before }))
	v := policy.Judge(builder.Snapshot(job, builder.Now(20*second), builder.Running("worker", 0), builder.Running("worker", 1)))
	if got := v.Accounts; got.LastFailure == nil || got.LastFailure.Pod != before.Pod || len(got.Incidents) != 1 || got.Incidents[0].Cause != v1alpha1.CauseRequested {
		t.Errorf("last failure %+v, incidents %+v", got.LastFailure, got.Incidents)
	}
}
