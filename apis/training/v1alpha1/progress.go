package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Progress lets the job report its progress: rank 0 serves a page at the port, and the operator reads it. Without a port the operator
// detects no hang.
//
// It may be added, changed and removed at any time. A pod from before cannot report and does not hang.
type Progress struct {
	// port is the TCP port of the page of rank 0: http://<pod>:<port>/progress, which trainingjob.report() of the Python SDK serves. Every
	// container gets it as TRAININGJOB_PROGRESS_PORT. With hostNetwork the main container of each such role names it in its ports, and the
	// scheduler puts one such replica on a node. Default: no page.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// stallAfterSeconds is the maximum time of a running job without a report. It counts from the moment all replicas run, so leave time
	// for loading and compiling. A page counts from the first report of the process. Default 600.
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
	// TRAININGJOB_CHECKPOINT_REQUEST_FILE and answer it in their report, with savedFor. Without a page they cannot answer.
	// The operator stops them after the answer, or after this time. Its flag --max-checkpoint-wait bounds the time. Default 0: the operator requests no checkpoint. May
	// change at any time. The operator requests none while a rank runs whose pod is older than the setting.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	CheckpointGraceSeconds int32 `json:"checkpointGraceSeconds,omitempty"`
}

// CheckpointRequest is the request to the ranks of a running job to save a checkpoint before the operator stops them.
type CheckpointRequest struct {
	// id of the request, which the answer repeats: "<attempt>-<Unix time>".
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
