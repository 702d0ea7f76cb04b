package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// maxIncidents is how many incidents a status remembers.
const maxIncidents = 10

// account keeps the books of the verdict's restarts, and corrects those of earlier ones whose true cause shows now: incidents,
// budgets, what is charged, and the nodes to avoid.
func account(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v policy.Verdict) {
	amendments := policy.Explain(s, v.Restarts)
	if len(amendments) == 0 && len(v.Restarts) == 0 {
		return
	}
	for _, a := range amendments {
		amend(next, a)
	}
	for i := range v.Restarts {
		next.ChargedRestarts += one(v.Restarts[i].Charged)
	}
	next.Incidents = append(newest(s, v.Restarts), next.Incidents...)
	next.Incidents = next.Incidents[:min(len(next.Incidents), maxIncidents)]
	next.Memory.Charges = policy.Charges(s, amendments, v.Restarts)
	next.Budgets = policy.Budgets(s, next.Memory.Charges)
	next.AvoidedNodes = policy.Avoid(s, next.Incidents, amendments)
	if len(v.Restarts) > 0 && policy.CountsAsStuck(s, v.Failure) {
		next.RestartsWithoutProgress = policy.RestartsWithoutProgress(s) + 1
	}
}

// amend replaces an incident by what it truly was.
func amend(next *v1alpha1.TrainingJobStatus, a policy.Amendment) {
	for i := range next.Incidents {
		if was := &next.Incidents[i]; was.Pod == a.Was.Pod && was.RestartTime.Equal(&a.Was.RestartTime) {
			*was = a.Is
		}
	}
	next.ChargedRestarts += one(a.Is.Charged) - one(a.Was.Charged)
	if f := next.LastFailure; f != nil && f.Pod == a.Was.Pod {
		is := a.Is.Failure
		next.LastFailure = &is
	}
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// newest returns the incidents of the last orders, the last first.
func newest(s *state.Snapshot, orders []policy.RestartOrder) []v1alpha1.Incident {
	var list []v1alpha1.Incident
	for i := len(orders) - 1; i >= 0 && len(list) < maxIncidents; i-- {
		list = append(list, incidentOf(s, &orders[i]))
	}
	return list
}

func incidentOf(s *state.Snapshot, o *policy.RestartOrder) v1alpha1.Incident {
	return v1alpha1.Incident{
		Failure: o.Failure, Scope: o.Scope, Followers: o.Followers, Charged: o.Charged,
		RestartTime: metav1.NewTime(s.Now.Truncate(time.Second)),
	}
}

// keepRunningTime adds up how long the job ran when a run ends: a run that a failure ended was over when the replica failed,
// not when that was noticed.
func keepRunningTime(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v policy.Verdict) {
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		return
	}
	until := s.Now
	if v.Failure != nil {
		until = v.Failure.Time.Time
	}
	next.RunningSeconds = s.Job.Status.RunningSeconds + int64(presentRun(s, until).Seconds())
}

// presentRun returns for how long the job has been running without a break until then.
func presentRun(s *state.Snapshot, until time.Time) time.Duration {
	c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status != metav1.ConditionTrue {
		return 0
	}
	return max(0, until.Truncate(time.Second).Sub(c.LastTransitionTime.Time))
}

// runningTimeRatio returns the time that the job ran over the time from its start to its end or now, suspensions left out:
// "0.973".
func runningTimeRatio(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) string {
	if next.StartTime == nil {
		return ""
	}
	until := s.Now.Truncate(time.Second)
	if next.CompletionTime != nil {
		until = next.CompletionTime.Time
	}
	total := until.Sub(next.StartTime.Time) - policy.SuspendedFor(s.Job, until)
	if total < time.Second {
		return ""
	}
	ran := time.Duration(next.RunningSeconds) * time.Second
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		ran += presentRun(s, s.Now)
	}
	return fmt.Sprintf("%.3f", min(1, ran.Seconds()/total.Seconds()))
}
