package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Progress makes the job report how far it is, through the Lease <job>-progress that the operator creates beside it.
// The training (rank 0, or a side-car) renews it: spec.renewTime, and the annotations trainingjob.dev/step and
// trainingjob.dev/checkpoint.
//
// It may be added, changed and removed at any time. A pod that was made before it was added knows no Lease: it does not hang.
type Progress struct {
	// stallAfterSeconds is how long a running job may leave its Lease without renewal. It counts from the moment all
	// replicas run, so leave time for loading and compiling. Default 600.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	// +optional
	StallAfterSeconds int32 `json:"stallAfterSeconds,omitempty"`
	// action on a stall. Notify: condition Progressing=False and an Event. Restart: also restart the whole job, as an
	// incident of cause Hang. Default Notify.
	// +kubebuilder:default=Notify
	// +optional
	Action StallAction `json:"action,omitempty"`
	// checkpointGraceSeconds is how long the ranks of a running job have to save a checkpoint before the operator stops them for a
	// suspension, a preemption, a drain, a requested restart or a smaller number of workers. The ranks find the request in the file
	// TRAININGJOB_STOP_FILE and answer it in the Lease, by the annotation trainingjob.dev/saved-for. The operator stops them at
	// once after the answer, and without an answer after this time. Its flag --max-checkpoint-wait bounds the time.
	// Default 0: the operator requests no checkpoint. May change at any time; the operator requests none while a rank runs whose pod was
	// made without it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	CheckpointGraceSeconds int32 `json:"checkpointGraceSeconds,omitempty"`
}

// CheckpointRequest asks the ranks of a job that runs to save a checkpoint before they are stopped.
type CheckpointRequest struct {
	// id is what the answer in the progress Lease repeats: "<attempt>-<Unix time>".
	// +required
	ID string `json:"id"`
	// reason why they are to be stopped: SuspendedBySpec, AwaitingAdmission, RestartRequested, ScaledIn, or why their pods are ended.
	// +required
	Reason string `json:"reason"`
	// time of the request.
	// +required
	Time metav1.Time `json:"time"`
	// deadlineTime is when they are stopped without an answer.
	// +required
	DeadlineTime metav1.Time `json:"deadlineTime"`
}

// StallAction says what is done when the job makes no progress.
//
// +kubebuilder:validation:Enum=Notify;Restart
type StallAction string

// The actions on a stall.
const (
	StallNotify  StallAction = "Notify"
	StallRestart StallAction = "Restart"
)

// DefaultStallAfterSeconds is the default of Progress.StallAfterSeconds; the schema holds it too.
const DefaultStallAfterSeconds int32 = 600
