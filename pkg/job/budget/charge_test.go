package budget_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestChargesAfterARestart(t *testing.T) {
	times := func(all ...time.Duration) []metav1.Time {
		var list []metav1.Time
		for _, d := range all {
			list = append(list, builder.Time(d))
		}
		return list
	}
	begins := func(cause v1alpha1.Cause, charged bool) failure.Restart {
		return failure.Restart{Incident: v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: cause}, Charged: charged}}
	}
	incident := func(cause v1alpha1.Cause, charged bool, at time.Duration) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: cause}, Charged: charged, RestartTime: builder.Time(at)}
	}
	type charged struct {
		v1alpha1.Budget
		Times []metav1.Time
	}
	of := func(name v1alpha1.BudgetName, limit int32, all ...time.Duration) charged {
		return charged{v1alpha1.Budget{Name: name, Limit: limit, Used: int32(len(all))}, times(all...)}
	}
	const restarts, oom, hang, made = v1alpha1.BudgetRestarts, v1alpha1.BudgetOOMRestarts, v1alpha1.BudgetHangRestarts, v1alpha1.BudgetRuleMadeLosses
	ruled := begins(v1alpha1.CauseInfrastructure, false)
	ruled.RuleMade = true
	free := incident(v1alpha1.CauseInfrastructure, false, 20*second)
	cases := []struct {
		name   string
		was    []builder.JobOption
		amends []failure.Amendment
		begun  []failure.Restart
		want   []charged
	}{
		{"a budget that was never charged is left out", nil, nil, []failure.Restart{begins(v1alpha1.CauseInfrastructure, false)}, nil},
		{"each incident is charged to the budget of its cause", nil, nil,
			[]failure.Restart{begins(v1alpha1.CauseRetryable, true), begins(v1alpha1.CauseStartup, true), begins(v1alpha1.CauseOOM, true), begins(v1alpha1.CauseHang, true)},
			[]charged{of(restarts, 10, 60*second, 60*second), of(oom, 3, 60*second), of(hang, 5, 60*second)}},
		{"a loss that only a rule makes counts against its own budget", nil, nil, []failure.Restart{ruled}, []charged{of(made, 100, 60*second)}},
		{"so it does if it turns out to be one", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: free, RuleMade: true}}, nil, []charged{of(made, 100, 20*second)}},
		{"what is older than the window goes", []builder.JobOption{builder.Charged(restarts, -86400*second, -86340*second, 10*second)}, nil,
			[]failure.Restart{begins(v1alpha1.CauseRetryable, true)}, []charged{of(restarts, 10, 10*second, 60*second)}},
		{"what was charged for a loss is refunded", []builder.JobOption{builder.Charged(restarts, 10*second, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: free}}, nil, []charged{of(restarts, 10, 10*second)}},
		{"a budget that was refunded in full is left out", []builder.JobOption{builder.Charged(oom, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseOOM, true, 20*second), Is: free}}, nil, nil},
		{"what was not charged is not refunded", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, false, 20*second), Is: free}}, nil, []charged{of(restarts, 10, 20*second)}},
		{"what turns out to be another cause is charged there, at its time", []builder.JobOption{builder.Charged(restarts, 20*second), builder.Charged(oom, 30*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: incident(v1alpha1.CauseOOM, true, 20*second)}}, nil,
			[]charged{of(oom, 3, 20*second, 30*second)}},
		{"what turns out to be an earlier exit of the same cause stays as it is", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: incident(v1alpha1.CauseRetryable, true, 20*second)}}, nil,
			[]charged{of(restarts, 10, 20*second)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.was, builder.Workers(1))...))
			charges := budget.Charge(s, c.amends, c.begun)
			var got []charged
			for i, b := range budget.Budgets(s, charges) {
				got = append(got, charged{b, charges[i].Times})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("budgets (-want +got):\n%s", diff)
			}
		})
	}
}
