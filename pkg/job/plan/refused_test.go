package plan_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// refusedPod makes the API server refuse that pod with the message. The next try is at 100 s.
func refusedPod(name, sentence string) builder.SnapshotOption {
	return func(s *state.Observed) {
		s.Refusal = &state.Refusal{Reason: v1alpha1.ReasonQuotaExceeded, Message: sentence, Pods: map[string]bool{name: true}, Retry: builder.Epoch.Add(100 * second)}
	}
}

// One replica waits for its quota, and another one is lost: the lost one's place goes to it.
func TestARefusedReplicaDelaysNobody(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0), created)
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), refusedPod("j-worker-2", "exceeded quota: q, requested: pods=1")))
	if got := lines(p.Steps); !slices.Equal(got, []string{"create j-worker-1"}) || p.Wake.IsZero() || p.Wake.After(builder.Epoch.Add(100*second)) {
		t.Errorf("steps %v, looks again at %v", got, p.Wake)
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("the job is not stalled: %v", p.Status.Conditions)
	}
}

// The pod of lastFailure has ended, and takes a place in a quota that counts objects.
func TestTheKeptPodGivesWayToAQuotaThatCountsIt(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), created, builder.Attempt(1), lastFailure("j-worker-1"))
	failed := builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 0))
	for isCrowded, want := range map[bool][]string{false: nil, true: {"delete j-worker-1: its life is past"}} {
		crowded := func(s *state.Observed) { s.Crowded = isCrowded }
		p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), failed, refusedPod("j-worker-1-a1r0", "exceeded quota: q"), crowded))
		if got := lines(p.Steps); !slices.Equal(got, want) {
			t.Errorf("crowded %t: %v, want %v", isCrowded, got, want)
		}
	}
}

// A user suspends a crashing job, fixes it, and resumes it.
func TestAResumedJobDoesNotWaitForItsBackOff(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(1), builder.StartedAt(0), created, builder.Attempt(3), nextStart(600*second),
		builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 30*second))
	resumed := after(t, builder.Snapshot(job))
	if next := resumed.Status.NextStartTime; next != nil {
		t.Errorf("it begins at %v", next)
	}
	if got := lines(plan.Make(builder.Snapshot(resumed)).Steps); !slices.Equal(got, []string{"create j-worker-0-a3r1"}) {
		t.Errorf("steps %v", got)
	}
}
