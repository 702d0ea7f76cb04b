package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Progress lets the job report its progress through the Lease <job>-progress, which the operator creates. The training (rank 0, or a
// side-car) renews it: spec.renewTime, and the annotations trainingjob.dev/step and trainingjob.dev/checkpoint.
//
// It may be added, changed and removed at any time. A pod from before has no Lease and does not hang.
type Progress struct {
	// stallAfterSeconds is the maximum time of a running job without a renewal of its Lease. It counts from the moment all replicas run,
	// so leave time for loading and compiling. Default 600.
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
	// checkpointGraceSeconds is the time that the ranks of a running job have to save a checkpoint before the operator stops them for a
	// suspension, a preemption, a drain, a requested restart or a smaller number of workers. The ranks read the request in the file
	// TRAININGJOB_STOP_FILE and answer it in the Lease, by the annotation trainingjob.dev/saved-for. The operator stops them after the
	// answer, or after this time. Its flag --max-checkpoint-wait bounds the time. Default 0: the operator requests no checkpoint. May
	// change at any time. The operator requests none while a rank runs whose pod is older than the setting.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	CheckpointGraceSeconds int32 `json:"checkpointGraceSeconds,omitempty"`
}

// CheckpointRequest is the request to the ranks of a running job to save a checkpoint before the operator stops them.
type CheckpointRequest struct {
	// id of the request, which the answer in the progress Lease repeats: "<attempt>-<Unix time>".
	// +required
	ID string `json:"id"`
	// reason of the stop: SuspendedBySpec, AwaitingAdmission, RestartRequested, ScaledIn, or the reason why their pods end.
	// +required
	Reason string `json:"reason"`
	// time of the request.
	// +required
	Time metav1.Time `json:"time"`
	// deadlineTime is when the operator stops them without an answer.
	// +required
	DeadlineTime metav1.Time `json:"deadlineTime"`
}

// StallAction is the reaction to a job without progress.
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
