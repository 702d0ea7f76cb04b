package failure_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// An exit that no restart can mend counts even if it came before a restart and shows only now.
func TestFatalEvidence(t *testing.T) {
	exit := func(code int32, at time.Duration) builder.SnapshotOption {
		return builder.Failed("worker", 2, past, builder.Exit(code), builder.At(at))
	}
	again := incident(func(i *v1alpha1.Incident) {
		i.Attempt, i.Pod, i.RestartTime = 1, "j-worker-0-a1r0", builder.Time(50*second)
	})
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen builder.SnapshotOption
		want string
	}{
		"it came before the failure that the job was restarted for": {restarted(), exit(127, 20*second), "worker-2 Fatal"},
		"it came in the same second, and no other exited so":        {restarted(), exit(127, 30*second), "worker-2 Fatal"},
		"it came later":                  {restarted(), exit(127, 31*second), ""},
		"a restart can mend it":          {restarted(), exit(1, 20*second), ""},
		"the incident is not the latest": {restarted(builder.Attempt(2), builder.Incidents(again, incident())), exit(127, 20*second), ""},
		"the job had no incident":        {restarted(builder.Incidents()), exit(127, 20*second), ""},
		"a rule calls it fatal":          {restarted(builder.Rules(failJob(rule{ExitCodes: []int32{7}}))), exit(7, 20*second), "worker-2 Fatal by rule 0"},
	} {
		got := ""
		if fatal := failure.FatalEvidence(builder.Snapshot(c.job, c.seen)); fatal != nil {
			got = line(fatal)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Explain accepts any history. It amends only incidents of the status, each once, and never makes one fatal.
func TestExplainObeysItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := builder.ArbitrarySnapshot(t)
		for _, a := range failure.Explain(s, failure.Restarts(s, failure.Find(s))) {
			isKnown := slices.ContainsFunc(s.Job.Status.Incidents, func(i v1alpha1.Incident) bool { return cmp.Equal(i, a.Was) })
			if !isKnown || !a.Is.Explained || a.Was.Explained || a.Is.Cause == v1alpha1.CauseFatal || !a.Is.RestartTime.Equal(&a.Was.RestartTime) || a.Is.Scope != a.Was.Scope {
				t.Fatalf("%+v is explained by %+v", a.Was, a.Is)
			}
		}
	})
}
