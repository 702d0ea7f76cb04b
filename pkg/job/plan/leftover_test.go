package plan_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// An operator up to 2026-11 made spares, which no job has any more: they hold nodes for nothing.
func TestSparesOfAnEarlierOperatorAreDeleted(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0))
	spares := seen(builder.Spare(0), builder.Spare(1, builder.DeletedAt(50*second)))
	gone := []string{"delete j-worker-spare-0: it is a spare of an earlier operator"}
	rests := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, "", 0))
	checkSteps(t, []stepCase{
		{"while the job runs", job, append(spares, builder.Running("worker", 0)), gone, 0},
		{"beside a missing replica", job, spares, append([]string{"create j-worker-0"}, gone...), 0},
		{"while it is suspended", rests, spares, gone, 0},
		{"when it has finished", builder.Job("j", builder.Workers(1), finished(v1alpha1.ReasonLeaderSucceeded)), spares, gone, 0},
	})
}
