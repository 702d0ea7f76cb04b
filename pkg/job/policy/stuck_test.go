package policy_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

const oneBug = "ValueError: batch 17 is empty"

// crashes says that worker-1 has exited with 1 so many times in a row on two nodes, the latest at the end, each explained by one of the lines in turn.
func crashes(lines ...string) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Attempt, s.Restarts, s.Memory.RestartsInRow = int32(len(lines)), int32(len(lines)), int32(len(lines))
		for i, line := range lines {
			at, node := builder.Time(time.Duration(i)*second), []string{"a", "b"}[i%2]
			s.Incidents = append([]v1alpha1.Incident{{
				Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Attempt: int32(i), Pod: "j-worker-1", Node: node, Cause: v1alpha1.CauseRetryable,
					Reason: "Error", ExitCode: ptr.To[int32](1), Message: line, Time: at},
				Scope: v1alpha1.ScopeJob, RestartTime: at, Charged: true,
			}}, s.Incidents...)
			s.Memory.NodeFailures = []v1alpha1.NodeFailures{{Node: "a", Times: []metav1.Time{builder.Time(0), builder.Time(2 * second)}}, {Node: "b", Times: []metav1.Time{builder.Time(second)}}}
			s.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: "a", Failures: 2, Reason: "Error", ExpirationTime: builder.Time(24 * time.Hour)}}
		}
	})
}

// Where all ranks have the same error, each restart may name another one.
func TestABugOfAllRanksIsOneCrash(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), crashes(oneBug, oneBug, oneBug))
	for i := range job.Status.Incidents {
		job.Status.Incidents[i].Index = int32(i % 2)
	}
	v := policy.Judge(builder.Snapshot(job, builder.Now(20*second), builder.Running("worker", 0, builder.Life(3, 0)),
		builder.Failed("worker", 1, builder.Life(3, 0), builder.ExitSaying(1, "Error", oneBug), builder.At(10*second))))
	if v.Kind != policy.Fail || v.Reason != v1alpha1.ReasonNoProgress {
		t.Errorf("%v %s: %s", v.Kind, v.Reason, v.Message)
	}
}

func TestTheSameCrashIsNoProgress(t *testing.T) {
	limit := func(n int32) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.SameCrashLimit = ptr.To(n) })
	}
	steps := builder.Progress(600, v1alpha1.StallNotify)
	const peer, memory = "RuntimeError: Connection closed by peer", "CUDA out of memory. Tried to allocate 2.00 GiB. Process 1 has 3 GiB"
	for name, c := range map[string]struct {
		before  []string
		options []builder.JobOption
		code    int32
		said    string
		fails   bool
	}{
		"three restarts in a row": {[]string{oneBug, oneBug, oneBug}, nil, 1, "Traceback (most recent call last):\n" + oneBug + "\nwandb: done", true},
		"two":                     {[]string{oneBug, oneBug}, nil, 1, oneBug, false},
		"another limit":           {[]string{oneBug}, []builder.JobOption{limit(1)}, 1, oneBug, true},
		"0 turns it off":          {[]string{oneBug, oneBug, oneBug, oneBug, oneBug}, []builder.JobOption{limit(0)}, 1, oneBug, false},
		"another line":            {[]string{oneBug, oneBug, oneBug}, nil, 1, "ValueError: batch 18 is empty", false},
		"another line between":    {[]string{oneBug, "ValueError: batch 18 is empty", oneBug}, nil, 1, oneBug, false},
		"another code":            {[]string{oneBug, oneBug, oneBug}, nil, 3, oneBug, false},
		"a kill":                  {[]string{oneBug, oneBug, oneBug}, nil, 137, oneBug, false},
		"a lost peer":             {[]string{peer, peer, peer}, nil, 1, peer, false},
		"failed output":           {[]string{"OSError: Read timed out", "OSError: Read timed out", "OSError: Read timed out"}, nil, 1, "OSError: Read timed out", false},
		"a line without an error": {[]string{"step 1", "step 1", "step 1"}, nil, 1, "step 1", false},
		"the ids of processes":    {[]string{"Error: " + memory, "Error: " + memory + "5", "Error: " + memory}, nil, 1, "Error: " + memory + "7", true},
		"after ten calm minutes":  {[]string{oneBug, oneBug, oneBug}, []builder.JobOption{builder.RunsSince(0)}, 1, oneBug, false},
		"steps that came":         {[]string{oneBug, oneBug, oneBug}, []builder.JobOption{steps, reported(7, 1)}, 1, oneBug, false},
		"a step that never came":  {[]string{oneBug, oneBug, oneBug}, []builder.JobOption{steps, reported(0, 0)}, 1, oneBug, true},
	} {
		now := 20 * second
		if name == "after ten calm minutes" {
			now = 11 * time.Minute
		}
		job := builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), crashes(c.before...)}, c.options...)...)
		v := policy.Judge(builder.Snapshot(job, builder.Now(now), builder.Running("worker", 0, builder.Life(len(c.before), 0)),
			builder.Failed("worker", 1, builder.Life(len(c.before), 0), builder.ExitSaying(c.code, "Error", c.said), builder.At(now-10*second))))
		if fails := v.Kind == policy.Fail && v.Reason == v1alpha1.ReasonNoProgress; fails != c.fails || !fails && v.Kind != policy.Restart && v.Kind != policy.Hold {
			t.Errorf("%s: %v %s: %s", name, v.Kind, v.Reason, v.Message)
		}
		if c.fails && name != "another limit" && (len(v.Accounts.AvoidedNodes) > 0 || len(v.Accounts.NodeFailures) > 0) {
			t.Errorf("%s: nodes are blamed for a bug: %v, %v", name, v.Accounts.AvoidedNodes, v.Accounts.NodeFailures)
		}
	}
}
