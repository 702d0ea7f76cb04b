package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Failure is one replica that broke: which, where, how.
type Failure struct {
	// role of the replica that broke.
	// +required
	Role Role `json:"role"`
	// index of the replica that broke.
	// +required
	Index int32 `json:"index"`
	// attempt in which it broke.
	// +required
	Attempt int32 `json:"attempt"`
	// cause says what kind of failure it is; it decides whether the failure is restarted, and charged to which budget.
	// +required
	Cause Cause `json:"cause"`
	// pod that broke; it is kept for its log until the next restart, unless a side-car of its still ran or evidence named it late. So are
	// the pods of other ranks that ended with the same code within two seconds.
	// +optional
	Pod string `json:"pod,omitempty"`
	// node that the pod was on.
	// +optional
	Node string `json:"node,omitempty"`
	// container that failed, if it is not the main one: an init container, or a side-car that a rule names.
	// +optional
	Container string `json:"container,omitempty"`
	// exitCode of that container; absent if none ended. Above 128 a signal ended it: 137 is signal 9.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// reason in the words of Kubernetes: Error, OOMKilled, Evicted, NodeLost, ...
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is the end of the container's termination message.
	// +optional
	Message string `json:"message,omitempty"`
	// alike is how many other replicas broke in the same second and in the same way, and whose last words do not tell them apart
	// either: which of them was first cannot be known, as Kubernetes gives whole seconds. Evidence that shows later may change it.
	// +optional
	Alike int32 `json:"alike,omitempty"`
	// time at which it broke.
	// +required
	Time metav1.Time `json:"time"`
}

// Incident is one restart: the failure that it began with, and what was done about it.
type Incident struct {
	// failure that the incident began with.
	Failure `json:",inline"`
	// scope of the restart.
	// +required
	Scope RestartScope `json:"scope"`
	// followers is the number of other replicas that were restarted with it.
	// +optional
	Followers int32 `json:"followers"`
	// charged is whether the restart is charged to a budget.
	// +optional
	Charged bool `json:"charged"`
	// restartTime is when the restart was decided.
	// +required
	RestartTime metav1.Time `json:"restartTime"`
	// explained is whether the cause showed only after the restart and replaced the first impression.
	// +optional
	Explained bool `json:"explained,omitempty"`
}

// Cause is the kind of a failure; it decides whether the failure is restarted, and charged to which budget.
type Cause string

// The causes.
const (
	// CauseInfrastructure is a pod that was lost and not at fault: its node, a drain, an eviction, a deletion; not charged.
	CauseInfrastructure Cause = "Infrastructure"
	// CausePreempted is a pod that made way for one of higher priority; not charged.
	CausePreempted Cause = "Preempted"
	// CauseRequested is a restart that somebody asked for (annotation trainingjob.dev/restart); not charged.
	CauseRequested Cause = "Requested"
	// CauseCompleted is a program that exited with code 0 and is run again, as its restartPolicy is Always: no failure; not charged.
	CauseCompleted Cause = "Completed"
	// CauseOOM is a container that ran out of memory; charged to maxOOMRestarts.
	CauseOOM Cause = "OOM"
	// CauseRetryable is an exit that the restart policy restarts; charged to maxRestarts.
	CauseRetryable Cause = "Retryable"
	// CauseFatal is an exit that no restart can mend; it fails the job.
	CauseFatal Cause = "Fatal"
	// CauseHang is a job that stopped reporting progress; charged to maxHangRestarts.
	CauseHang Cause = "Hang"
	// CauseStartup is a replica that could not start, or not in time; charged to maxRestarts.
	CauseStartup Cause = "Startup"
)

// Budget is how much of a budget is used up.
type Budget struct {
	// name is the field of spec.recovery that sets the limit, or ruleMadeLosses, or evaluatorRestarts.
	// +required
	Name BudgetName `json:"name"`
	// used is the number of restarts charged within the window, as of the latest one.
	// +required
	Used int32 `json:"used"`
	// limit is the number of restarts that may be charged within the window.
	// +required
	Limit int32 `json:"limit"`
}

// BudgetName names a budget by the field of spec.recovery that sets its limit. ruleMadeLosses has none: its limit is 100. That of
// evaluatorRestarts is maxRestarts, too: beyond it an evaluator is left as it failed.
type BudgetName string

// The budgets.
const (
	BudgetRestarts     BudgetName = "maxRestarts"
	BudgetOOMRestarts  BudgetName = "maxOOMRestarts"
	BudgetHangRestarts BudgetName = "maxHangRestarts"
	// BudgetRuleMadeLosses counts failures that are losses only because a rule of recovery.rules says so.
	BudgetRuleMadeLosses BudgetName = "ruleMadeLosses"
	// BudgetEvaluatorRestarts counts what evaluators fail of by themselves.
	BudgetEvaluatorRestarts BudgetName = "evaluatorRestarts"
)

// MaxRuleMadeLosses is the limit of BudgetRuleMadeLosses.
const MaxRuleMadeLosses int32 = 100

// AvoidedNode is a node that the job avoids: new pods prefer other nodes.
type AvoidedNode struct {
	// name of the node.
	// +required
	Name string `json:"name"`
	// failures is the number of incidents that began on the node.
	// +required
	Failures int32 `json:"failures"`
	// reason of the latest of them.
	// +optional
	Reason string `json:"reason,omitempty"`
	// expirationTime is when the job stops avoiding the node.
	// +required
	ExpirationTime metav1.Time `json:"expirationTime"`
}
