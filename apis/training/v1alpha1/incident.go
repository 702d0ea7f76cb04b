package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Failure is one failed replica: which, where and how.
type Failure struct {
	// role of the failed replica.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Role Role `json:"role"`
	// index of the failed replica.
	// +kubebuilder:validation:Minimum=0
	// +required
	Index int32 `json:"index"`
	// attempt in which it failed.
	// +kubebuilder:validation:Minimum=0
	// +required
	Attempt int32 `json:"attempt"`
	// replacement counts how often the replica had started again in that attempt: without the whole job, or after a suspension. A pod can be
	// of several of these starts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replacement int32 `json:"replacement,omitempty"`
	// cause is the kind of the failure. It decides whether the replica restarts, and which budget is charged.
	// +kubebuilder:validation:Enum=Infrastructure;Preempted;Requested;Completed;OOM;Retryable;Fatal;Hang;Startup
	// +required
	Cause Cause `json:"cause"`
	// pod that failed. It stays for its log until the next restart, unless a side-car still ran, or the restart had deleted it before late
	// evidence named it. The pods of other ranks that ended by themselves within two seconds stay too.
	// +optional
	Pod string `json:"pod,omitempty"`
	// node of the pod.
	// +optional
	Node string `json:"node,omitempty"`
	// container that failed, if it is not the main container: an init container, or a side-car that a rule names.
	// +optional
	Container string `json:"container,omitempty"`
	// exitCode of that container; absent if none ended. A code above 128 means a signal: 137 is signal 9.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// reason as Kubernetes reports it: Error, OOMKilled, Evicted, NodeLost, ...
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is the line of the container's termination message that explains the end, and then the end of its other lines. After
	// SIGKILL it begins with the last line. For a hang it shows where the ranks were.
	// +optional
	Message string `json:"message,omitempty"`
	// alike counts the other replicas that failed in the same second in the same way, with last words that do not distinguish them.
	// Kubernetes timestamps have one-second precision, so the first of them is unknown. Later evidence may change the number.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Alike int32 `json:"alike,omitempty"`
	// time of the failure.
	// +required
	Time metav1.Time `json:"time"`
}

// Incident is one restart: its first failure, and the reaction.
type Incident struct {
	// failure that began the incident.
	Failure `json:",inline"`
	// scope of the restart.
	// +kubebuilder:validation:Enum=Replica;Role;Job
	// +required
	Scope RestartScope `json:"scope"`
	// followers is the number of other replicas that restarted with it. Replicas and roles that restart without the whole job and end within 10 s
	// are one incident.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Followers int32 `json:"followers"`
	// charged is true if the restart counts against a budget.
	// +optional
	Charged bool `json:"charged"`
	// restartTime is the time of the decision to restart.
	// +required
	RestartTime metav1.Time `json:"restartTime"`
	// explained is true if the cause showed only after the restart and replaced an earlier one.
	// +optional
	Explained bool `json:"explained,omitempty"`
}

// Cause is the kind of a failure. It decides whether the replica restarts, and which budget is charged.
type Cause string

// The causes.
const (
	// CauseInfrastructure is a pod that was lost without its own fault: its node, a drain, an eviction, a deletion; not charged.
	CauseInfrastructure Cause = "Infrastructure"
	// CausePreempted is a pod that a pod of higher priority preempted; not charged.
	CausePreempted Cause = "Preempted"
	// CauseRequested is a restart that a user requested (annotation trainingjob.dev/restart); not charged.
	CauseRequested Cause = "Requested"
	// CauseCompleted is a program that exited with code 0 and runs again because of restartPolicy Always. It is no failure; not charged.
	CauseCompleted Cause = "Completed"
	// CauseOOM is a container that ran out of memory; charged to maxOOMRestarts.
	CauseOOM Cause = "OOM"
	// CauseRetryable is an exit that the restart policy restarts; charged to maxRestarts.
	CauseRetryable Cause = "Retryable"
	// CauseFatal is an exit that no restart can correct; it fails the job.
	CauseFatal Cause = "Fatal"
	// CauseHang is a job that stopped reporting progress; charged to maxHangRestarts.
	CauseHang Cause = "Hang"
	// CauseStartup is a replica that could not start, or not in time; charged to maxRestarts.
	CauseStartup Cause = "Startup"
)

// Causes lists all causes.
var Causes = []Cause{
	CauseInfrastructure, CausePreempted, CauseRequested, CauseCompleted, CauseOOM, CauseRetryable, CauseFatal, CauseHang, CauseStartup,
}

// MaxIncidents is how many incidents a status keeps.
const MaxIncidents = 10

// Budget is the use of one budget.
type Budget struct {
	// name is the field of spec.recovery that sets the limit, or ruleMadeLosses, or evaluatorRestarts.
	// +required
	Name BudgetName `json:"name"`
	// used is the number of charged restarts within the window, at the latest of them.
	// +kubebuilder:validation:Minimum=0
	// +required
	Used int32 `json:"used"`
	// limit is the number of restarts that may be charged within the window.
	// +kubebuilder:validation:Minimum=0
	// +required
	Limit int32 `json:"limit"`
}

// BudgetName is the field of spec.recovery that sets the limit of the budget, or ruleMadeLosses with the limit 100, or evaluatorRestarts
// with the limit of maxRestarts. An evaluator, or a replica of a Custom job's own role, stays failed beyond that limit.
// +kubebuilder:validation:Enum=maxRestarts;maxOOMRestarts;maxHangRestarts;ruleMadeLosses;evaluatorRestarts
type BudgetName string

// The budgets.
const (
	BudgetRestarts     BudgetName = "maxRestarts"
	BudgetOOMRestarts  BudgetName = "maxOOMRestarts"
	BudgetHangRestarts BudgetName = "maxHangRestarts"
	// BudgetRuleMadeLosses counts failures that are losses only because of a rule in recovery.rules.
	BudgetRuleMadeLosses BudgetName = "ruleMadeLosses"
	// BudgetEvaluatorRestarts counts the failures of roles that the training does not need: of evaluators, and of a Custom job's own roles.
	BudgetEvaluatorRestarts BudgetName = "evaluatorRestarts"
)

// BudgetNames lists the budgets in the order in which a status lists them.
var BudgetNames = []BudgetName{BudgetRestarts, BudgetOOMRestarts, BudgetHangRestarts, BudgetRuleMadeLosses, BudgetEvaluatorRestarts}

// MaxRuleMadeLosses is the limit of BudgetRuleMadeLosses.
const MaxRuleMadeLosses int32 = 100

// AvoidedNode is a node that the job avoids: new pods prefer other nodes.
type AvoidedNode struct {
	// name of the node.
	// +required
	Name string `json:"name"`
	// failures is the number of incidents that began on the node.
	// +kubebuilder:validation:Minimum=0
	// +required
	Failures int32 `json:"failures"`
	// reason of the latest incident.
	// +optional
	Reason string `json:"reason,omitempty"`
	// expirationTime is when the job stops avoiding the node.
	// +required
	ExpirationTime metav1.Time `json:"expirationTime"`
}
