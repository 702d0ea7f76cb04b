package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrainingJobStatus is what the operator saw and decided. Only the operator writes it.
type TrainingJobStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason says in one word why the job is in this phase.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says in one sentence why the job is in this phase.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// ready is the number of replicas whose pod is ready, of all replicas: "7/8".
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Ready string `json:"ready,omitempty"`
	// attempt is the number of whole-job restarts so far: 0 in the job's first life.
	// +optional
	Attempt int32 `json:"attempt"`
	// restarts is the number of restarts so far: each whole-job or whole-role restart and each replaced replica counts one.
	// +optional
	Restarts int32 `json:"restarts"`
	// billedRestarts is how many of the restarts are charged against recovery.maxRestarts.
	// +optional
	BilledRestarts int32 `json:"billedRestarts"`
	// consecutiveRestarts is the number of restarts with less than 10 minutes of running between them; it sets the back-off.
	// +optional
	ConsecutiveRestarts int32 `json:"consecutiveRestarts,omitempty"`

	// replicaStatuses says by role how its replicas are.
	// +kubebuilder:validation:MaxProperties=6
	// +optional
	ReplicaStatuses map[Role]ReplicaStatus `json:"replicaStatuses,omitempty"`

	// firstFailure is the failure behind the latest restart or the job's end: the earliest of those that came together.
	// +optional
	FirstFailure *Failure `json:"firstFailure,omitempty"`

	// startTime is when the job first started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// runningTime is when all replicas of the job first ran.
	// +optional
	RunningTime *metav1.Time `json:"runningTime,omitempty"`
	// completionTime is when the job succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// nextStartTime is the time before which no pod is created, because of the back-off after a restart.
	// +optional
	NextStartTime *metav1.Time `json:"nextStartTime,omitempty"`
	// suspendedSeconds is how long the job was suspended after its first start, without the present suspension.
	// +optional
	SuspendedSeconds int64 `json:"suspendedSeconds,omitempty"`
	// duration is the time from startTime to completionTime, once the job has finished: "1h2m3s".
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Duration string `json:"duration,omitempty"`

	// conditions say what is true of the job; their types and reasons are listed in the API reference.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReplicaStatus is how the replicas of one role are.
type ReplicaStatus struct {
	// active is the number of pods that exist and have not finished, terminating ones included.
	// +optional
	Active int32 `json:"active"`
	// ready is the number of pods that are ready.
	// +optional
	Ready int32 `json:"ready"`
	// succeeded is the number of replicas that finished with success.
	// +optional
	Succeeded int32 `json:"succeeded"`
	// failed is the number of replicas whose present pod has failed.
	// +optional
	Failed int32 `json:"failed"`
	// restarts is the number of restarts that replicas of this role caused.
	// +optional
	Restarts int32 `json:"restarts"`
	// restartScope is the scope in force for this role.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// selector selects the pods of this role; the scale subresource shows it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Selector string `json:"selector,omitempty"`
	// startedIndexes are the replicas that have run in their present life: "0-3,5".
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	StartedIndexes string `json:"startedIndexes,omitempty"`
	// succeededIndexes are the replicas that have succeeded: "0-3,5".
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	SucceededIndexes string `json:"succeededIndexes,omitempty"`
	// givenUpIndexes are the evaluators that failed for good in this attempt; they are not run again: "0-3,5".
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	GivenUpIndexes string `json:"givenUpIndexes,omitempty"`
	// replacements says how often each replica was replaced in this attempt: "0-3:1,5:2"; 0 is left out.
	// +kubebuilder:validation:MaxLength=131072
	// +optional
	Replacements string `json:"replacements,omitempty"`
}

// Failure is one replica that broke: which, where, how.
type Failure struct {
	// role of the replica that broke.
	Role Role `json:"role"`
	// index of the replica that broke.
	Index int32 `json:"index"`
	// attempt in which it broke.
	Attempt int32 `json:"attempt"`
	// cause says what kind of failure it is: Retryable, Fatal, Infrastructure or Startup.
	Cause Cause `json:"cause"`
	// pod that broke; it is kept for its log until the next restart.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Pod string `json:"pod,omitempty"`
	// node that the pod was on.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`
	// exitCode of the container that failed first; absent if no container ended.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// signal that ended the container, if its exit code says so (above 128).
	// +optional
	Signal *int32 `json:"signal,omitempty"`
	// reason in the words of Kubernetes: Error, OOMKilled, Evicted, ...
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is the end of the container's termination message.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// time at which it broke.
	Time metav1.Time `json:"time"`
}

// Cause is the kind of a failure; it decides whether the failure is restarted and charged.
//
// +kubebuilder:validation:Enum=Retryable;Fatal;Infrastructure;Startup
type Cause string

// The causes.
const (
	// CauseRetryable is an exit that the restart policy restarts; charged.
	CauseRetryable Cause = "Retryable"
	// CauseFatal is an exit that no restart can mend; it fails the job.
	CauseFatal Cause = "Fatal"
	// CauseInfrastructure is a pod that was lost and not at fault: drained, evicted, preempted, deleted; restarted, not charged.
	CauseInfrastructure Cause = "Infrastructure"
	// CauseStartup is an attempt whose replicas did not all run in time; charged.
	CauseStartup Cause = "Startup"
)

// Phase sums the conditions up in one word.
//
// +kubebuilder:validation:Enum=Created;Pending;Running;Restarting;Suspended;Succeeded;Failed
type Phase string

// The phases.
const (
	PhaseCreated    Phase = "Created"
	PhasePending    Phase = "Pending"
	PhaseRunning    Phase = "Running"
	PhaseRestarting Phase = "Restarting"
	PhaseSuspended  Phase = "Suspended"
	PhaseSucceeded  Phase = "Succeeded"
	PhaseFailed     Phase = "Failed"
)
