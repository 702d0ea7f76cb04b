package invariant

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/world"
)

// What docs/recovery.md promises of recovery.rules: all matchers of a rule must match, and the first rule that matches wins.

// ownEnds are the reasons of containers that ended by themselves. No exit code or signal of another end matches a rule.
var ownEnds = []string{"Error", "OOMKilled", "Completed", "StartError"}

// forgotten are the reasons of containers of which nothing is known but a code that stands for that. The documents leave open whether it matches.
var forgotten = []string{"Unknown", "ContainerStatusUnknown"}

// ruleFor returns the first rule that matches the failure; nil for none. isKnown is false if the failure does not show that: it shows neither the
// conditions of the pod nor all its containers.
func ruleFor(spec *v1alpha1.TrainingJobSpec, f *v1alpha1.Failure) (rule *v1alpha1.RecoveryRule, isKnown bool) {
	for i := range spec.Recovery.Rules {
		switch r := &spec.Recovery.Rules[i]; {
		case !mayMatch(r, f):
		case len(r.Conditions) > 0 || r.ContainerName != "" || f.Container != "" || slices.Contains(forgotten, f.Reason):
			return nil, false
		default:
			return r, true
		}
	}
	return nil, true
}

// mayMatch reports whether the matchers of the rule match all that the failure shows.
func mayMatch(r *v1alpha1.RecoveryRule, f *v1alpha1.Failure) bool {
	return (len(r.Roles) == 0 || slices.Contains(r.Roles, f.Role)) && (len(r.Reasons) == 0 || slices.Contains(r.Reasons, f.Reason)) && matchesEnd(r, f)
}

// matchesEnd reports whether the rule asks for no end of a container, or for that of the failure. Codes are those of the main container, unless the rule
// names another one.
func matchesEnd(r *v1alpha1.RecoveryRule, f *v1alpha1.Failure) bool {
	if len(r.ExitCodes)+len(r.Signals) == 0 && r.ContainerName == "" {
		return true
	}
	isEnd := f.ExitCode != nil && (slices.Contains(ownEnds, f.Reason) || slices.Contains(forgotten, f.Reason))
	if !isEnd || f.Container != "" && r.ContainerName == "" {
		return false
	}
	code := world.CodeIn(f.Message, *f.ExitCode)
	return (len(r.ExitCodes) == 0 || slices.Contains(r.ExitCodes, code)) && (len(r.Signals) == 0 || slices.Contains(r.Signals, code-128))
}

// isByRule reports whether a rule makes the failure what it is, or may do so.
func isByRule(job *v1alpha1.TrainingJob, f *v1alpha1.Failure) bool {
	rule, isKnown := ruleFor(&job.Spec, f)
	return !isKnown || rule != nil && rule.Cause == f.Cause
}

// checkRule: a failure has the cause that the first matching rule sets.
func (c *Checker) checkRule(job *v1alpha1.TrainingJob, f *v1alpha1.Failure) {
	if rule, isKnown := ruleFor(&job.Spec, f); isKnown && rule != nil && rule.Cause != "" && rule.Cause != f.Cause {
		c.violate("8 exactly once: %s (%s, %v) has the cause %s, and a rule sets %s", f.Pod, f.Reason, f.ExitCode, f.Cause, rule.Cause)
	}
}
