package v1alpha1

// Recovery sets what is restarted, how often and how fast. Its parts are asked in this order: cause (rules, else what
// Kubernetes says), scope (rules, else restartScope), budget, back-off.
//
// +kubebuilder:validation:XValidation:rule="!has(self.backoffSeconds) || !has(self.maxBackoffSeconds) || self.backoffSeconds <= self.maxBackoffSeconds",message="recovery.backoffSeconds must not be above recovery.maxBackoffSeconds"
type Recovery struct {
	// maxRestarts is how many restarts within windowSeconds the job may cause by failing itself; one more failure
	// fails the job. Pods that were lost (node, drain, eviction, preemption, deletion) are restarted without being
	// charged. Default: 10, or one for every ten replicas that are restarted alone (scope Replica) if that is more: of a
	// thousand workers ten times as many fail in a day as of a hundred.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`

	// maxOOMRestarts is the same for containers that ran out of memory: they rarely need less of it the next time. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxOOMRestarts *int32 `json:"maxOOMRestarts,omitempty"`

	// maxHangRestarts is the same for restarts because of stalled progress. Default 5.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxHangRestarts *int32 `json:"maxHangRestarts,omitempty"`

	// restartMethod is how a restart of the whole job restarts healthy replicas. InPlace starts the main container again in its pod, which
	// keeps its node, devices and volumes. A replica whose pod cannot restart gets a new pod. Recreate deletes all pods and creates new
	// ones. Default: InPlace for PyTorch jobs that are not elastic, JAX and XGBoost, if every template's terminationGracePeriodSeconds
	// is at most terminationGraceSeconds, because a program that ignores SIGTERM delays the restart for that long. Otherwise Recreate,
	// and also if the leader's template declares or probes the port at which the ranks meet. May change at any time and counts from
	// the next attempt or resumption.
	// +optional
	RestartMethod RestartMethod `json:"restartMethod,omitempty"`

	// windowSeconds is how long a charged restart counts against its budget. Default 86400, one day.
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`

	// noProgressLimit is how many charged restarts of the whole job, hangs included, may follow one another without a newer
	// step in its progress Lease; one more fails the job, whatever its budgets. Only for jobs with spec.progress that have
	// reported a step. Lost pods and replicas that are replaced alone do not count. 0 turns it off. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	NoProgressLimit *int32 `json:"noProgressLimit,omitempty"`

	// incidentWindowSeconds is how much later than a failure its true cause may show: a node that turns out to be lost
	// within that time takes the incident over, and what was charged is given back. Default 60.
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600
	// +optional
	IncidentWindowSeconds *int32 `json:"incidentWindowSeconds,omitempty"`

	// avoidNodesSeconds is how long new pods of the job prefer other nodes than one that caused an incident: at once if the node
	// itself broke, else after two exits on it. 0 avoids none. Default 86400, one day.
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	// +optional
	AvoidNodesSeconds *int32 `json:"avoidNodesSeconds,omitempty"`

	// backoffSeconds is the wait before the second restart in a row, at least 1 second. It doubles with each further one, up to
	// maxBackoffSeconds. The first restart after 10 calm minutes begins at once. A replica that is restarted alone has a
	// back-off of its own, and so have the replicas of a role that is, and the whole job. Default 5.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	BackoffSeconds *int32 `json:"backoffSeconds,omitempty"`

	// maxBackoffSeconds is the longest wait before a restart; 0 is taken for 1. Default 300.
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MaxBackoffSeconds *int32 `json:"maxBackoffSeconds,omitempty"`

	// terminationGraceSeconds is how long a pod that a restart ends has from SIGTERM to SIGKILL, if its template does not say less. Its
	// ranks are cut off from those that broke, so little is left to do; programs that save what they have on SIGTERM may need
	// more. Suspension, scaling and clean-up leave the template's own time. Default 5.
	// May change at any time; what follows from it for restartMethod counts from the next attempt or resumption.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TerminationGraceSeconds *int32 `json:"terminationGraceSeconds,omitempty"`

	// forceAfterSeconds is how long after its grace period a pod that was told to end may go on, on a node that is well, before
	// its object is deleted by force, so that the job goes on without it. Its processes may then still run beside the next ones
	// and write what they write: only for jobs whose checkpoints take no harm. A pod with a claim is never deleted so. Default: never.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	ForceAfterSeconds *int32 `json:"forceAfterSeconds,omitempty"`

	// rules say otherwise than the defaults for failures that they match; the first match wins. Default: none.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Rules []RecoveryRule `json:"rules,omitempty"`
}

// RecoveryRule says what a failure that it matches is. Every matcher that is set must match; within one, any of its
// values.
//
// +kubebuilder:validation:XValidation:rule="has(self.roles) || has(self.containerName) || has(self.exitCodes) || has(self.signals) || has(self.reasons) || has(self.conditions)",message="a rule must match something: write roles, containerName, exitCodes, signals, reasons or conditions"
// +kubebuilder:validation:XValidation:rule="has(self.cause) || has(self.scope)",message="a rule must change something: write cause, scope or both"
// +kubebuilder:validation:XValidation:rule="!has(self.cause) || self.cause != 'Fatal' || !has(self.scope)",message="cause: Fatal fails the job and restarts nothing: leave scope out"
type RecoveryRule struct {
	// name of the rule in messages. Default: its place in the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Name string `json:"name,omitempty"`
	// roles that the rule is for. Default: all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=set
	// +optional
	Roles []Role `json:"roles,omitempty"`
	// containerName is the container that must have ended. Without it a rule is for the main container: the one that the annotation
	// kubectl.kubernetes.io/default-container of the template names, else the first. What other containers end with breaks a
	// replica only if a rule names them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ContainerName string `json:"containerName,omitempty"`
	// exitCodes of the container, 1 to 255.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	// +listType=set
	// +optional
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// signals that ended it, 1 to 64: 9 is the exit code 137.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=64
	// +listType=set
	// +optional
	Signals []int32 `json:"signals,omitempty"`
	// reasons as status.lastFailure shows them: OOMKilled, Evicted, NodeLost, ...
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	Reasons []string `json:"reasons,omitempty"`
	// conditions are types of pod conditions that are True on the failed pod: DisruptionTarget, or one of your own.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=316
	// +listType=set
	// +optional
	Conditions []string `json:"conditions,omitempty"`

	// cause of the failure: it decides which budget is charged. Fatal fails the job at once, whichever replica failed. Default: the
	// cause by Kubernetes' facts. A failure that is Infrastructure or Preempted only because a rule says so is not charged to
	// maxRestarts. At most 100 of them within windowSeconds are restarted (budget ruleMadeLosses); one more fails the job.
	// +kubebuilder:validation:Enum=Infrastructure;Preempted;OOM;Retryable;Fatal;Hang;Startup
	// +optional
	Cause Cause `json:"cause,omitempty"`
	// scope of the restart. Default: restartScope of the role.
	// +kubebuilder:validation:Enum=Replica;Role;Job
	// +optional
	Scope RestartScope `json:"scope,omitempty"`
}

// The defaults of Recovery; the schema holds them too, except maxRestarts, whose default grows with the job.
const (
	DefaultMaxRestarts             int32 = 10
	DefaultMaxOOMRestarts          int32 = 3
	DefaultMaxHangRestarts         int32 = 5
	DefaultWindowSeconds           int32 = 86400
	DefaultNoProgressLimit         int32 = 3
	DefaultIncidentWindowSeconds   int32 = 60
	DefaultAvoidNodesSeconds       int32 = 86400
	DefaultBackoffSeconds          int32 = 5
	DefaultMaxBackoffSeconds       int32 = 300
	DefaultTerminationGraceSeconds int32 = 5
)

// RestartMethod is how a whole-job restart gives a replica that is well its next life.
// +kubebuilder:validation:Enum=Recreate;InPlace
type RestartMethod string

// The methods.
const (
	// RestartRecreate deletes the pod and creates another.
	RestartRecreate RestartMethod = "Recreate"
	// RestartInPlace has the kubelet start the main container again in its pod.
	RestartInPlace RestartMethod = "InPlace"
)
