package v1alpha1

// Recovery sets what restarts, how often and how fast. A decision takes these steps: cause (rules, or the facts of Kubernetes), scope
// (rules, or restartScope), budget, back-off.
//
// +kubebuilder:validation:XValidation:rule="self.?backoffSeconds.orValue(0) <= self.?maxBackoffSeconds.orValue(86400)",message="recovery.backoffSeconds must not be above recovery.maxBackoffSeconds"
type Recovery struct {
	// maxRestarts is the number of restarts within windowSeconds for the job's own failures; one more failure fails the job. Restarts of
	// lost pods (node, drain, eviction, preemption, deletion) are not charged. Default: 10, or one for every ten replicas that restart
	// alone (scope Replica) if that is more, because a thousand workers fail ten times as often as a hundred.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`

	// maxOOMRestarts is the same for containers that ran out of memory. Default 3, because a restart rarely needs less memory.
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

	// restartMethod is how replicas restart. InPlace starts the main container again in its pod, which keeps its node, devices and volumes,
	// also if the container has ended. A replica whose pod cannot restart gets a new pod. Recreate deletes all pods and creates new ones.
	// Default: InPlace for PyTorch jobs that are not elastic, JAX and XGBoost, if every template's terminationGracePeriodSeconds is at
	// most terminationGraceSeconds, because a program that ignores SIGTERM delays the restart for that long. Otherwise Recreate, and
	// also if the leader's template declares or probes the port at which the ranks meet. May change at any time and counts from the
	// next attempt or resumption.
	// +optional
	RestartMethod RestartMethod `json:"restartMethod,omitempty"`

	// windowSeconds is how long a charged restart counts against its budget. Default 86400, one day.
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`

	// noProgressLimit is the number of charged restarts of the whole job in a row, hangs included, without a newer step in its
	// progress. One more fails the job, regardless of its budgets. It applies to jobs with spec.progress that have reported a step. Lost
	// pods and replicas that restart alone do not count. 0 turns it off. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	NoProgressLimit *int32 `json:"noProgressLimit,omitempty"`

	// sameCrashLimit is the number of charged restarts in a row after the same crash: a rank exited with the same code, and
	// the same line of its own explains it. One more such crash fails the job, and its nodes are no longer avoided for them. In a row
	// are restarts with less than 10 minutes of running between them, and without a newer step if the job reports steps. Signals, lack
	// of memory, lost peers and failed input or output do not count. 0 turns it off. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +optional
	SameCrashLimit *int32 `json:"sameCrashLimit,omitempty"`

	// incidentWindowSeconds is how much later than a failure its true cause may show. A node that turns out to be lost within that time
	// becomes the cause, and a charge is refunded. Default 60.
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600
	// +optional
	IncidentWindowSeconds *int32 `json:"incidentWindowSeconds,omitempty"`

	// avoidNodesSeconds is how long new pods of the job prefer other nodes to one that caused an incident: at once if the node itself
	// failed, otherwise after two exits on it. 0 avoids none. Default 86400, one day.
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	// +optional
	AvoidNodesSeconds *int32 `json:"avoidNodesSeconds,omitempty"`

	// backoffSeconds is the wait before the second restart in a row, at least 1 second. It doubles with each further one, up to
	// maxBackoffSeconds. The first restart after 10 calm minutes begins at once. Each replica that restarts alone, each role and the
	// whole job have their own back-off. Default 5.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	BackoffSeconds *int32 `json:"backoffSeconds,omitempty"`

	// maxBackoffSeconds is the longest wait before a restart; 0 counts as 1. Default 300.
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MaxBackoffSeconds *int32 `json:"maxBackoffSeconds,omitempty"`

	// terminationGraceSeconds is the time from SIGTERM to SIGKILL for a pod that a restart ends, if its template does not have less.
	// Raise it for programs that save on SIGTERM. Suspension, scaling and clean-up use the template's time. Default 5. May change at any
	// time; its effect on restartMethod begins with the next attempt or resumption.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TerminationGraceSeconds *int32 `json:"terminationGraceSeconds,omitempty"`

	// forceAfterSeconds is how long after its grace period a deleted pod may continue on a healthy node, before the operator deletes the
	// object by force so that the job continues. Its processes may then still run beside the next ones and write: use it only if late
	// writes cannot harm the checkpoints. The operator never forces a pod with a claim. Default: never.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	ForceAfterSeconds *int32 `json:"forceAfterSeconds,omitempty"`

	// rules replace the defaults for the failures that they match; the first match wins. Default: none.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Rules []RecoveryRule `json:"rules,omitempty"`
}

// RecoveryRule sets the cause or the scope of the failures that it matches. All its matchers must match; within one, any of its values.
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
	// roles of the rule. Default: all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=set
	// +optional
	Roles []Role `json:"roles,omitempty"`
	// containerName is the container that must have ended. Without it a rule applies to the main container: the container that the
	// annotation kubectl.kubernetes.io/default-container of the template names, or the first. An exit of another container fails a
	// replica only if a rule names the container.
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

	// cause of the failure, which selects the budget. Fatal fails the job at once, for a failure of any replica. Default: the cause by
	// Kubernetes' facts. A failure that only a rule makes Infrastructure or Preempted is not charged to maxRestarts. At most 100 of them
	// within windowSeconds restart (budget ruleMadeLosses); one more fails the job.
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
	DefaultSameCrashLimit          int32 = 3
	DefaultIncidentWindowSeconds   int32 = 60
	DefaultAvoidNodesSeconds       int32 = 86400
	DefaultBackoffSeconds          int32 = 5
	DefaultMaxBackoffSeconds       int32 = 300
	DefaultTerminationGraceSeconds int32 = 5
)

// RestartMethod is how a restart gives a replica its next life.
// +kubebuilder:validation:Enum=Recreate;InPlace
type RestartMethod string

// The methods.
const (
	// RestartRecreate deletes the pod and creates a new one.
	RestartRecreate RestartMethod = "Recreate"
	// RestartInPlace lets the kubelet start the main container again in its pod.
	RestartInPlace RestartMethod = "InPlace"
)
