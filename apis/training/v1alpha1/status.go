package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrainingJobStatus is what the operator observed and decided. Only the operator writes it.
type TrainingJobStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase summarizes the conditions in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason is the reason of this phase, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message explains this phase in one sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// ready is readyReplicas of replicas, for the column READY: "7/8". It is "-" while the job is suspended and once it has finished.
	// +optional
	Ready string `json:"ready,omitempty"`
	// replicas is the number of replicas that the job should have, in all roles.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas is the number of replicas whose pod is ready.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// attempt is the number of whole-job restarts so far: 0 in the job's first life.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Attempt int32 `json:"attempt"`
	// restarts is the number of restarts so far: each restart of the job, of a role, or of a replica alone counts one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Restarts int32 `json:"restarts"`
	// chargedRestarts is how many of the restarts are charged to a budget of spec.recovery.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ChargedRestarts int32 `json:"chargedRestarts"`
	// budgets are the budgets with charges and their use.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5
	// +optional
	Budgets []Budget `json:"budgets,omitempty"`
	// replicaStatuses is the state of the replicas by role.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	ReplicaStatuses map[Role]ReplicaStatus `json:"replicaStatuses,omitempty"`

	// lastFailure is the failure behind the latest restart or the end of the job, or just before its suspension: the first of the failures that came
	// together. A requested restart, and an exit with code 0 under restartPolicy Always, are no failures and do not change it.
	// +optional
	LastFailure *Failure `json:"lastFailure,omitempty"`
	// incidents are the last 10 restarts, newest first.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Incidents []Incident `json:"incidents,omitempty"`
	// avoidedNodes are the nodes to which new pods of the job prefer all others, sorted by name. The scheduler may still choose one.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	AvoidedNodes []AvoidedNode `json:"avoidedNodes,omitempty"`
	// checkpointRequest is the request to the ranks to save a checkpoint before the operator stops them. It is absent otherwise.
	// +optional
	CheckpointRequest *CheckpointRequest `json:"checkpointRequest,omitempty"`
	// progress is the latest report of the training.
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`

	// startTime is when the job first started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// runningTime is when all replicas of the job first ran.
	// +optional
	RunningTime *metav1.Time `json:"runningTime,omitempty"`
	// completionTime is when the job succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// nextStartTime is the time before which the operator creates no pod, because of the back-off after a whole-job restart.
	// memory.roles.nextStarts has the times of single replicas.
	// +optional
	NextStartTime *metav1.Time `json:"nextStartTime,omitempty"`
	// suspendedSeconds is how long the job was suspended after its first start, without the present suspension.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SuspendedSeconds int64 `json:"suspendedSeconds,omitempty"`
	// runningSeconds is how long the job ran, in all its attempts, without the present run.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RunningSeconds int64 `json:"runningSeconds,omitempty"`
	// lostSeconds are the other seconds, by cause, at the latest change of this status.
	// +optional
	LostSeconds LostSeconds `json:"lostSeconds,omitempty"`

	// memory is what the operator must remember. Only the operator reads and writes it, and its form may change with any version.
	// +optional
	Memory Memory `json:"memory,omitempty"`

	// conditions of the job. The API reference lists their types and reasons.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReplicaStatus is the state of the replicas of one role.
type ReplicaStatus struct {
	// active is the number of pods that exist and have not finished, terminating ones included.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Active int32 `json:"active"`
	// ready is the number of pods that are ready.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Ready int32 `json:"ready"`
	// succeeded is the number of replicas that finished with success.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Succeeded int32 `json:"succeeded"`
	// failed is the number of replicas whose present pod has failed.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Failed int32 `json:"failed"`
	// restarts is the number of restarts that replicas of this role caused.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Restarts int32 `json:"restarts"`
	// restartScope is the scope in force for this role.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// selector selects the pods of this role; the scale subresource shows it.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// LostSeconds are the seconds in which the job did not train, by what it waited for.
type LostSeconds struct {
	// queue is how long a queue kept the job suspended. This time is not part of the time since the first start.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Queue int64 `json:"queue,omitempty"`
	// nodes is how long pods waited for nodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Nodes int64 `json:"nodes,omitempty"`
	// starting is how long pods with nodes were starting: images, init containers; the slowest pod counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Starting int64 `json:"starting,omitempty"`
	// detection is the time from failures to the decision to restart the whole job or to fail it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Detection int64 `json:"detection,omitempty"`
	// restart is the time from the decision until the operator could create the next pods: the end of pods, and back-offs.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Restart int64 `json:"restart,omitempty"`
	// redone is how long the job ran after whole-job restarts until it reported a step as high as before. It is part of the time that the
	// job ran. Only jobs that report steps have it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Redone int64 `json:"redone,omitempty"`
}

// ProgressStatus is the progress that the training reported.
type ProgressStatus struct {
	// step is the highest step reported since the job was last resumed.
	// +kubebuilder:validation:Minimum=0
	// +required
	Step int64 `json:"step"`
	// checkpoint is the latest checkpoint reported.
	// +optional
	Checkpoint string `json:"checkpoint,omitempty"`
	// checkpointTime is when that checkpoint was first reported. A stop of the job loses the training since then.
	// +optional
	CheckpointTime *metav1.Time `json:"checkpointTime,omitempty"`
	// renewTime is when the operator first saw the latest report. A report without a newer step or checkpoint shows here within 5 minutes.
	// +optional
	RenewTime *metav1.Time `json:"renewTime,omitempty"`
	// metrics are the numbers of the latest report, by name, with six significant digits. They are up to a minute old.
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	Metrics map[string]string `json:"metrics,omitempty"`
}

// Phase summarizes the conditions in one word: Created, Queued, Pending, Running, Restarting, Suspended, Succeeded or Failed.
type Phase string

// The phases.
const (
	PhaseCreated    Phase = "Created"
	PhaseQueued     Phase = "Queued"
	PhasePending    Phase = "Pending"
	PhaseRunning    Phase = "Running"
	PhaseRestarting Phase = "Restarting"
	PhaseSuspended  Phase = "Suspended"
	PhaseSucceeded  Phase = "Succeeded"
	PhaseFailed     Phase = "Failed"
)
