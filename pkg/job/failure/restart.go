package failure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Restart is a restart that may begin now: its incident, as the status will list it, and the values that are needed only now.
type Restart struct {
	v1alpha1.Incident
	// RuleMade is whether only a rule of recovery.rules makes the failure a loss.
	RuleMade bool
	// FailedBy is the index of the rule of recovery.rules that fails the job; nil if none does.
	FailedBy *int
	// Joins is another replica's incident that contains this end. It begins now, or began a few seconds ago. It is nil if the end begins an
	// incident itself.
	Joins *v1alpha1.Incident
	// Number is which restart within its budget it is; 0 if no budget counts it (budget.Number).
	Number int32
	// InRow is the number of restarts in a row, this one included. NextStart is the time from which its lives may begin.
	InRow     int32
	NextStart time.Time
	// Sentence reports it to the user.
	Sentence string
	// Place is the place of the failure among others (inOrder).
	Place []int64
}

// NewRestart returns the restart for a failure, after recovery.rules. p is the pod that broke; nil if it is gone, or if no pod broke.
func NewRestart(s *state.Snapshot, f v1alpha1.Failure, scope v1alpha1.RestartScope, p *state.Pod) Restart {
	restart := Restart{Incident: v1alpha1.Incident{Failure: f, Scope: scope, RestartTime: metav1.NewTime(s.Now.Truncate(time.Second))}}
	if IsFailure(f.Cause) {
		applyRule(s.Job, &restart, p)
	}
	// a lost pod is not the job's fault, and a role that the training does not need must not use up its budget
	restart.Charged = IsFailure(restart.Cause) && !IsLoss(restart.Cause) && !IsApart(&s.Job.Spec, f.Role) && !waitedInVain(s, &f)
	return restart
}

// waitedInVain reports whether a rank of a collective has ended by itself while another one has never run in this attempt, and has no node or no pod, because
// the API server refuses it: all others wait for that one, and give up when their libraries do.
func waitedInVain(s *state.Snapshot, f *v1alpha1.Failure) bool {
	isOne := IsOfRank(f) && state.IsMember(&s.Job.Spec, f.Role) && s.Job.Spec.Elastic == nil && f.Attempt == s.Job.Status.Attempt
	return isOne && s.Any(func(r *state.Replica) bool {
		waits := r.State == state.Pending || r.State == state.Missing && s.RefusalOf(r) != nil
		return state.IsRank(r.Slot.Role) && waits && !s.Memory[r.Slot.Role].Started.Has(r.Slot.Index)
	})
}

// SlotOf returns the slot of the replica that broke.
func SlotOf(f *v1alpha1.Failure) state.Slot { return state.Slot{Role: f.Role, Index: int(f.Index)} }

// At returns a failure of the replica that shows now and is no exit of its program.
func At(s *state.Snapshot, r *state.Replica, cause v1alpha1.Cause, reason, message string) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Role: r.Slot.Role, Index: int32(r.Slot.Index), Attempt: int32(r.Life.Attempt), Replacement: int32(r.Life.Replacement),
		Cause: cause, Reason: reason, Message: state.KeepBeginning(message), Time: metav1.NewTime(s.Now),
	}
	if r.Pod != nil {
		f.Pod, f.Node = r.Pod.Name, r.Pod.Node
	}
	return f
}

// IsFatal reports whether a restart cannot mend the failure.
func IsFatal(restart Restart) bool { return restart.Cause == v1alpha1.CauseFatal }

// matches reports whether every matcher that the rule sets has one of the failure's values. How the containers of a pod ended does not matter
// if a node, a controller or a user ended the pod.
func matches(r *v1alpha1.RecoveryRule, f *v1alpha1.Failure, p *state.Pod) bool {
	var exit *state.Exit
	if p != nil && f.ExitCode != nil && !wasEnded(p, ReasonOf(f.Reason)) {
		end := *p.Exit
		end.Code, exit = ExitCode(f), &end
	}
	return exit.Matches(r) &&
		(len(r.Roles) == 0 || slices.Contains(r.Roles, f.Role)) &&
		(len(r.Reasons) == 0 || slices.Contains(r.Reasons, f.Reason)) &&
		(len(r.Conditions) == 0 || p != nil && slices.ContainsFunc(r.Conditions, func(c string) bool { return slices.Contains(p.Conditions, c) }))
}

// wasEnded reports whether something else than its containers ended the pod: it was deleted, drained, preempted, evicted, or lost.
func wasEnded(p *state.Pod, why Reason) bool {
	return !p.Deleted.IsZero() || p.Disruption.Reason != "" || p.Rejected.Reason == evicted || why.showsLate || why.IsOnNode
}

// RuleText names a rule of recovery.rules: "recovery.rules[2]", or with its name "recovery.rules[2] (bad-host)".
func RuleText(job *v1alpha1.TrainingJob, n int) string {
	text := fmt.Sprintf("recovery.rules[%d]", n)
	if name := job.Spec.Recovery.Rules[n].Name; name != "" {
		text += " (" + name + ")"
	}
	return text
}

// applyRule sets the restart's cause and scope by the first of recovery.rules that matches. p is the pod that broke; nil if it is gone.
func applyRule(job *v1alpha1.TrainingJob, restart *Restart, p *state.Pod) {
	n := slices.IndexFunc(job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return matches(&r, &restart.Failure, p) })
	if n < 0 {
		return
	}
	r, wasLoss := &job.Spec.Recovery.Rules[n], IsLoss(restart.Cause)
	if r.Cause == v1alpha1.CauseFatal {
		restart.FailedBy = &n
	}
	restart.Cause, restart.Scope = cmp.Or(r.Cause, restart.Cause), cmp.Or(r.Scope, restart.Scope)
	restart.RuleMade = IsLoss(restart.Cause) && !wasLoss
}
