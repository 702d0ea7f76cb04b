package jobset

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The bounds of a TrainingJob's fields; its schema holds them too.
const (
	longestWindow = 31536000
	mostRestarts  = 1000
	mostPods      = 10000
	mostRoles     = 16
	mostCodes     = 64
)

// defaultBackoffLimit is the backoffLimit of a Job that has none.
const defaultBackoffLimit = 6

// ownFailures are the reasons of failures for which a Job fails: lost pods are not among them.
var ownFailures = []string{"Error", "OOMKilled", "ContainerCannotRun", "StartError"}

// reasonPodFailurePolicy and its like are the reasons for which a Job fails, as rules of a failure policy name them.
const (
	reasonPodFailurePolicy = "PodFailurePolicy"
	reasonBackoffLimit     = "BackoffLimitExceeded"
)

// recovery returns the budget and the rules by the failure policy. The whole job restarts: its Jobs do not restart single pods up to their backoffLimit,
// which the other ranks would not survive. Without a failure policy a JobSet fails with its first Job, after as many failures of pods as the
// Job's backoffLimit allows: that many restarts the TrainingJob has then.
func (s *JobSet) recovery(c *cast) (v1alpha1.Recovery, error) {
	limit := s.backoffLimit()
	if s.Spec.FailurePolicy != nil {
		limit = s.Spec.FailurePolicy.MaxRestarts
	}
	limit = max(0, min(limit, mostRestarts))
	r := v1alpha1.Recovery{MaxRestarts: &limit, WindowSeconds: ptr.To[int32](longestWindow), RestartMethod: v1alpha1.RestartRecreate}
	if limit < v1alpha1.DefaultMaxOOMRestarts {
		r.MaxOOMRestarts = ptr.To(limit)
	}
	r.Rules = s.exitRules(c)
	if s.Spec.FailurePolicy == nil {
		return r, nil
	}
	for i, rule := range s.Spec.FailurePolicy.Rules {
		own, err := rule.recovery(c, s.restartOf(&rule))
		if err != nil {
			return r, fmt.Errorf("spec.failurePolicy.rules[%d] (%s): %w", i, rule.Name, err)
		}
		if own != nil {
			r.Rules = append(r.Rules, *own)
		}
	}
	return r, nil
}

// backoffLimit returns the least backoffLimit of the Jobs.
func (s *JobSet) backoffLimit() int32 {
	least := int32(mostRestarts)
	for i := range s.Spec.ReplicatedJobs {
		least = min(least, ptr.Deref(s.Spec.ReplicatedJobs[i].Template.Spec.BackoffLimit, defaultBackoffLimit))
	}
	return least
}

// exitRules returns a rule for each list of exit codes by which a Job fails at once, where that fails the JobSet.
func (s *JobSet) exitRules(c *cast) (rules []v1alpha1.RecoveryRule) {
	for i := range s.Spec.ReplicatedJobs {
		job := &s.Spec.ReplicatedJobs[i]
		if !s.failsWith(job.Name) {
			continue
		}
		for _, rule := range ptr.Deref(job.Template.Spec.PodFailurePolicy, batchv1.PodFailurePolicy{}).Rules {
			if rule.Action == batchv1.PodFailurePolicyActionFailJob && rule.OnExitCodes != nil {
				codes := rule.OnExitCodes.Values
				rules = append(rules, v1alpha1.RecoveryRule{
					Roles: []v1alpha1.Role{c.roles[job.Name]}, ContainerName: ptr.Deref(rule.OnExitCodes.ContainerName, ""),
					ExitCodes: codes[:min(len(codes), mostCodes)], Cause: v1alpha1.CauseFatal,
				})
			}
		}
	}
	return rules
}

// failsWith reports whether the JobSet fails with a Job of that name that has failed by its podFailurePolicy.
func (s *JobSet) failsWith(job string) bool {
	if s.Spec.FailurePolicy == nil {
		return true
	}
	for _, rule := range s.Spec.FailurePolicy.Rules {
		if rule.isFor(job) && rule.names(reasonPodFailurePolicy) {
			return rule.Action == "FailJobSet"
		}
	}
	return false
}

func (r *Rule) isFor(job string) bool {
	return len(r.TargetReplicatedJobs) == 0 || slices.Contains(r.TargetReplicatedJobs, job)
}

// names reports whether the rule applies to a Job that failed for the reason.
func (r *Rule) names(reason string) bool {
	return len(r.OnJobFailureReasons) == 0 || slices.Contains(r.OnJobFailureReasons, reason)
}

// restartOf returns what restarts if one Job of the rule does: its role if it has one Job, its replica if it has one pod; empty for neither.
func (s *JobSet) restartOf(r *Rule) v1alpha1.RestartScope {
	jobs, pods := 1, int32(1)
	for i := range s.Spec.ReplicatedJobs {
		if job := &s.Spec.ReplicatedJobs[i]; r.isFor(job.Name) {
			jobs, pods = max(jobs, job.jobs()), max(pods, job.pods())
		}
	}
	switch {
	case jobs == 1:
		return v1alpha1.ScopeRole
	case pods == 1:
		return v1alpha1.ScopeReplica
	default:
		return ""
	}
}

// recovery returns the rule for a TrainingJob, where one Job restarts in that scope; nil for one that applies to no failures of pods.
func (r *Rule) recovery(c *cast, oneJob v1alpha1.RestartScope) (*v1alpha1.RecoveryRule, error) {
	own := &v1alpha1.RecoveryRule{Name: r.Name, Roles: c.rolesOf(r.TargetReplicatedJobs), Reasons: ownFailures}
	switch {
	case len(r.OnJobFailureMessagePatterns) > 0:
		return nil, fmt.Errorf("onJobFailureMessagePatterns cannot be kept, because there are no Jobs: leave it out")
	case !r.names(reasonBackoffLimit) || len(own.Roles) == 0: // they are of another part
		return nil, nil
	case oneJob == "" && strings.HasPrefix(r.Action, "RestartJob") && !strings.HasPrefix(r.Action, "RestartJobSet"):
		return nil, fmt.Errorf("action %s cannot be kept where replicas and parallelism are both above 1: write RestartJobSet, as ranks of a collective need it", r.Action)
	}
	switch r.Action {
	case "FailJobSet":
		own.Cause = v1alpha1.CauseFatal
	case "RestartJobSet":
		own.Scope = v1alpha1.ScopeJob
	case "RestartJobSetAndIgnoreMaxRestarts":
		own.Scope, own.Cause = v1alpha1.ScopeJob, v1alpha1.CauseInfrastructure
	case "RestartJob":
		own.Scope = oneJob
	case "RestartJobAndIgnoreMaxRestarts":
		own.Scope, own.Cause = oneJob, v1alpha1.CauseInfrastructure
	default:
		return nil, fmt.Errorf("action %.40q is unknown: write FailJobSet, RestartJobSet, RestartJob, or one of these with AndIgnoreMaxRestarts", r.Action)
	}
	return own, nil
}
