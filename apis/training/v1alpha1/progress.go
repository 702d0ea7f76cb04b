package v1alpha1

// Progress makes the job report how far it is, through the Lease <job>-progress that the operator creates beside it.
// The training (rank 0, or a side-car) renews it: spec.renewTime, and the annotations trainingjob.dev/step and
// trainingjob.dev/checkpoint.
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
