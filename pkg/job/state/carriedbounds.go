package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The bounds of numbers and times in a carried status. The sums of a job that runs on must fit into their types.
const (
	maxCount   int32 = 1_000_000_000
	maxSeconds int64 = 100 * 365 * 24 * 3600 // a time.Duration holds 292 years
	// maxSkew is how far the clocks of two clusters may differ.
	maxSkew = 5 * time.Minute
	// maxRoles and maxMetrics are the most that a spec and a progress page may have.
	maxRoles, maxMetrics = 16, 8
	// maxName is the longest name of a pod, and maxMetric the longest name or value of a metric, in bytes.
	maxName, maxMetric = 253, 63
)

// earliest is before any TrainingJob, and a time that the API server takes.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// bounds are the parts of a carried status. keep brings a part within what a status may be at that time. CarriedStatus writes what they make
// of a status. ParseCarried refuses a status that they would change.
var bounds = []struct {
	part string
	keep func(s *v1alpha1.TrainingJobStatus, now time.Time)
}{
	{"attempt", keepAttempt}, {"numbers of restarts", keepCounts}, {"seconds", keepSeconds}, {"times", keepTimes}, {"budgets", keepBudgets},
	{"charges", keepCharges}, {"incidents", keepIncidents}, {"lastFailure", keepLastFailure}, {"progress", keepProgress},
}

// outside returns the first part of the status that is outside its bounds; empty for none.
func outside(carried *v1alpha1.TrainingJobStatus, now time.Time) string {
	kept := carried.DeepCopy()
	for _, b := range bounds {
		if b.keep(kept, now); !equality.Semantic.DeepEqual(carried, kept) {
			return b.part
		}
	}
	return ""
}

// within brings a number into the range from 0 to most.
func within[N int32 | int64](most N, numbers ...*N) {
	for _, n := range numbers {
		*n = min(max(*n, 0), most)
	}
}

// notLater brings times into the range from earliest to now; nil stays.
func notLater(now time.Time, times ...*metav1.Time) {
	for _, t := range times {
		switch {
		case t == nil:
		case t.Time.Before(earliest):
			t.Time = earliest
		case t.After(now):
			t.Time = now.Truncate(time.Second)
		}
	}
}

func keepAttempt(s *v1alpha1.TrainingJobStatus, _ time.Time) {
	within(v1alpha1.MaxFirstAttempt-1, &s.Attempt)
}

func keepCounts(s *v1alpha1.TrainingJobStatus, _ time.Time) {
	within(maxCount, &s.Restarts, &s.ChargedRestarts, &s.Memory.RestartsWithoutProgress)
	for i, role := range slices.SortedFunc(maps.Keys(s.ReplicaStatuses), v1alpha1.Role.Compare) {
		of := s.ReplicaStatuses[role]
		within(maxCount, &of.Restarts)
		if s.ReplicaStatuses[role] = of; i >= maxRoles || !isRole(role) {
			delete(s.ReplicaStatuses, role)
		}
	}
}

func keepSeconds(s *v1alpha1.TrainingJobStatus, _ time.Time) {
	lost := &s.LostSeconds
	within(maxSeconds, &s.SuspendedSeconds, &s.RunningSeconds, &lost.Queue, &lost.Nodes, &lost.Starting, &lost.Detection, &lost.Restart, &lost.Redone)
}

func keepTimes(s *v1alpha1.TrainingJobStatus, now time.Time) {
	notLater(now, s.StartTime, s.RunningTime, s.Memory.CountedTime)
}

func keepBudgets(s *v1alpha1.TrainingJobStatus, _ time.Time) {
	s.Budgets = known(s.Budgets, func(b *v1alpha1.Budget) v1alpha1.BudgetName { return b.Name })
	for i := range s.Budgets {
		within(maxCount, &s.Budgets[i].Used, &s.Budgets[i].Limit)
	}
}

func keepCharges(s *v1alpha1.TrainingJobStatus, now time.Time) {
	charges := &s.Memory.Charges
	*charges = known(*charges, func(c *v1alpha1.Charges) v1alpha1.BudgetName { return c.Name })
	for i := range *charges {
		for j := range (*charges)[i].Times {
			notLater(now, &(*charges)[i].Times[j])
		}
	}
}

// known returns the items with the name of a budget, the first of each.
func known[T any](list []T, nameOf func(*T) v1alpha1.BudgetName) []T {
	var names []v1alpha1.BudgetName
	return slices.DeleteFunc(list, func(item T) bool {
		name := nameOf(&item)
		isUnknown := slices.Contains(names, name) || !slices.Contains(v1alpha1.BudgetNames, name)
		names = append(names, name)
		return isUnknown
	})
}

func keepIncidents(s *v1alpha1.TrainingJobStatus, now time.Time) {
	s.Incidents = slices.DeleteFunc(s.Incidents, func(incident v1alpha1.Incident) bool {
		isOfJob := incident.Scope == v1alpha1.ScopeJob
		isKnown := isOfJob || incident.Scope == v1alpha1.ScopeRole || incident.Scope == v1alpha1.ScopeReplica
		return !isKnown || !isFailure(&incident.Failure) || incident.Attempt < 0 || incident.Attempt > s.Attempt || isOfJob && incident.Attempt == s.Attempt // it ended an attempt
	})
	s.Incidents = s.Incidents[:min(len(s.Incidents), v1alpha1.MaxIncidents)]
	for i := range s.Incidents {
		incident := &s.Incidents[i]
		keepFailure(&incident.Failure, now)
		within(maxCount, &incident.Followers)
		notLater(now, &incident.RestartTime)
	}
}

func keepLastFailure(s *v1alpha1.TrainingJobStatus, now time.Time) {
	if s.LastFailure != nil && !isFailure(s.LastFailure) {
		s.LastFailure = nil
	}
	if s.LastFailure != nil {
		keepFailure(s.LastFailure, now)
	}
}

// isFailure reports whether the role and the cause of a failure are such.
func isFailure(f *v1alpha1.Failure) bool {
	return isRole(f.Role) && slices.Contains(v1alpha1.Causes, f.Cause)
}

func keepFailure(f *v1alpha1.Failure, now time.Time) {
	within(maxCount, &f.Index, &f.Attempt, &f.Alike)
	notLater(now, &f.Time)
}

func isRole(role v1alpha1.Role) bool {
	return slices.Contains(v1alpha1.Roles, role) || ownRole.MatchString(string(role))
}

func keepProgress(s *v1alpha1.TrainingJobStatus, now time.Time) {
	s.Memory.RedoStep = max(0, s.Memory.RedoStep)
	p := s.Progress
	if p == nil {
		return
	}
	p.Step = max(0, p.Step)
	notLater(now, p.CheckpointTime, p.RenewTime)
	for i, name := range slices.Sorted(maps.Keys(p.Metrics)) {
		if text := words(p.Metrics[name], maxMetric); i >= maxMetrics || name == "" || name != words(name, maxMetric) {
			delete(p.Metrics, name)
		} else {
			p.Metrics[name] = cmp.Or(text, "-")
		}
	}
}
