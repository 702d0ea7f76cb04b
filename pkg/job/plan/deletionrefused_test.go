package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestWhyAnExpiredJobIsStillThereIsToldOnce(t *testing.T) {
	refused := func(since time.Duration, told bool) builder.SnapshotOption {
		return func(s *state.Observed) {
			s.Refusal = &state.Refusal{Reason: v1alpha1.ReasonForbidden, Message: "no right", Since: builder.Epoch.Add(since), Retry: builder.Epoch.Add(since), Reported: told}
		}
	}
	job := builder.Job("j", builder.Workers(1), finished(v1alpha1.ReasonLeaderSucceeded), builder.TTL(20))
	for name, c := range map[string]struct {
		refusal builder.SnapshotOption
		want    []plan.Event
	}{
		"its deletion is refused":   {refused(55*second, false), []plan.Event{{Type: warning, Reason: "DeletionRefused", Action: "Forbidden", Message: "no right"}}},
		"and it was emitted":        {refused(55*second, true), nil},
		"what was refused is a pod": {refused(10*second, false), nil},
	} {
		if diff := cmp.Diff(c.want, plan.Make(builder.Snapshot(job, c.refusal)).Events); diff != "" {
			t.Errorf("%s: Events (-want +got):\n%s", name, diff)
		}
	}
}
