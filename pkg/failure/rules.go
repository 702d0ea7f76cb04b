package failure

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// firstRule returns the index of the first of recovery.rules that the failure matches; -1 if none does. p is the pod that
// broke; nil if it is gone.
func firstRule(job *v1alpha1.TrainingJob, f *v1alpha1.Failure, p *state.Pod) int {
	return slices.IndexFunc(job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return matches(&r, f, p) })
}

// matches reports whether every matcher that the rule sets has one of the failure's values.
func matches(r *v1alpha1.RecoveryRule, f *v1alpha1.Failure, p *state.Pod) bool {
	var exit *state.Exit
	if p != nil && f.ExitCode != nil {
		exit = p.Exit
	}
	return exit.Matches(r) &&
		(len(r.Roles) == 0 || slices.Contains(r.Roles, f.Role)) &&
		(len(r.Reasons) == 0 || slices.Contains(r.Reasons, f.Reason)) &&
		(len(r.Conditions) == 0 || p != nil && slices.ContainsFunc(r.Conditions, func(c string) bool { return slices.Contains(p.Conditions, c) }))
}

// RuleText names a rule of recovery.rules: "recovery.rules[2]", or with its name "recovery.rules[2] (bad-host)".
func RuleText(job *v1alpha1.TrainingJob, n int) string {
	text := fmt.Sprintf("recovery.rules[%d]", n)
	if name := job.Spec.Recovery.Rules[n].Name; name != "" {
		text += " (" + name + ")"
	}
	return text
}

// applyRule sets the incident's cause and scope by the first rule that matches.
func applyRule(job *v1alpha1.TrainingJob, incident *Incident, p *state.Pod) {
	n := firstRule(job, &incident.Failure, p)
	if n < 0 {
		return
	}
	r, wasLoss := &job.Spec.Recovery.Rules[n], IsLoss(incident.Cause)
	if r.Cause == v1alpha1.CauseFatal {
		incident.FailedBy = &n
	}
	if r.Cause != "" {
		incident.Cause = r.Cause
	}
	incident.RuleMade = IsLoss(incident.Cause) && !wasLoss
	if r.Scope != "" {
		incident.Scope = r.Scope
	}
}
