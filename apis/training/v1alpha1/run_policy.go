package v1alpha1

// RunPolicy sets the deadlines of a job and what is cleaned up when it has finished.
type RunPolicy struct {
	// cleanPodPolicy says which pods are deleted when the job has finished, with success or failure: Running
	// (those that still run; finished ones keep their logs), All or None. Default Running.
	// +kubebuilder:default=Running
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`

	// finishGraceSeconds is how long the replicas that still run when the job succeeds may go on, to end by themselves: ranks may still write
	// their part of the last checkpoint, an evaluator may still look at it. Parameter servers end with the last of them. Workers of MPI that run the
	// operator's sshd, and spares, have no such time. Default 30.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	FinishGraceSeconds *int32 `json:"finishGraceSeconds,omitempty"`

	// ttlSecondsAfterFinished deletes the job with all its pods so many seconds after it finished, at most 10 years. Default: never.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// activeDeadlineSeconds fails the job so many seconds after its first start; suspended time does not
	// count. At most 10 years. Default: none.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	ActiveDeadlineSeconds *int32 `json:"activeDeadlineSeconds,omitempty"`

	// startupDeadlineSeconds is how long an attempt may take until all its replicas run, from the moment its first
	// pod is created, so not while a quota admits none; then it counts as a failure of cause Startup and the job is restarted. At most 10 years. Default: none.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	StartupDeadlineSeconds *int32 `json:"startupDeadlineSeconds,omitempty"`
}

// DefaultFinishGraceSeconds is the default of RunPolicy; the schema holds it too.
const DefaultFinishGraceSeconds int32 = 30

// CleanPodPolicy says which pods of a finished job are deleted.
//
// +kubebuilder:validation:Enum=None;Running;All
type CleanPodPolicy string

// The clean-up policies.
const (
	CleanNone    CleanPodPolicy = "None"
	CleanRunning CleanPodPolicy = "Running"
	CleanAll     CleanPodPolicy = "All"
)
