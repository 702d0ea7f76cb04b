package v1alpha1

// RunPolicy sets the deadlines of a job and what is cleaned up when it has finished.
type RunPolicy struct {
	// cleanPodPolicy says which pods are deleted when the job has finished, with success or failure: Running
	// (those that still run; finished ones keep their logs), All or None. Default Running.
	// +kubebuilder:default=Running
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`

	// ttlSecondsAfterFinished deletes the job with all its pods so many seconds after it finished. Default: never.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// activeDeadlineSeconds fails the job so many seconds after its first start; suspended time does not
	// count. Default: none.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// startupDeadlineSeconds is how long an attempt may take until all its replicas run; then it counts as a
	// failure of cause Startup and the job is restarted. Default: none.
	// +kubebuilder:validation:Minimum=1
	// +optional
	StartupDeadlineSeconds *int64 `json:"startupDeadlineSeconds,omitempty"`
}

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

// Recovery sets how often and how fast a job is restarted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.backoffSeconds) || !has(self.maxBackoffSeconds) || self.backoffSeconds <= self.maxBackoffSeconds",message="recovery.backoffSeconds must not be above recovery.maxBackoffSeconds"
type Recovery struct {
	// maxRestarts is how many restarts the job may cause by failing itself; one more failure fails the job.
	// Pods that were lost (drained, evicted, deleted) are restarted without being charged. Default 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`

	// backoffSeconds is the wait before a restart. It doubles with each restart in a row, up to
	// maxBackoffSeconds, and starts anew after 10 minutes of running. Default 5.
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	BackoffSeconds *int32 `json:"backoffSeconds,omitempty"`

	// maxBackoffSeconds is the longest wait before a restart. Default 300.
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MaxBackoffSeconds *int32 `json:"maxBackoffSeconds,omitempty"`
}

// The defaults of Recovery; the schema holds them too.
const (
	DefaultMaxRestarts       int32 = 10
	DefaultBackoffSeconds    int32 = 5
	DefaultMaxBackoffSeconds int32 = 300
)
