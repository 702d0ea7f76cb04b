package v1alpha1

import "time"

// RunPolicy sets the deadlines of a job and the clean-up after it has finished.
type RunPolicy struct {
	// cleanPodPolicy selects the pods that the operator deletes when the job has succeeded or failed: Running (pods that still run;
	// finished pods keep their logs), All or None. Every policy deletes pods that never ran. Default Running.
	// +kubebuilder:default=Running
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`

	// finishGraceSeconds is the time that running replicas have to end by themselves after the success of the job: ranks may still write
	// their part of the last checkpoint, and an evaluator may read it. Parameter servers end with the last of them. Workers of MPI that
	// run the operator's sshd have no such time. Side-cars have it from the success of their replica on: they may still send metrics or
	// logs. Default 30.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	FinishGraceSeconds *int32 `json:"finishGraceSeconds,omitempty"`

	// ttlSecondsAfterFinished deletes the job with all its pods this many seconds after it finished, at most 10 years. Default: never.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// activeDeadlineSeconds fails the job this many seconds after its first start, without suspended time. At most 10 years. Default:
	// none.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	ActiveDeadlineSeconds *int32 `json:"activeDeadlineSeconds,omitempty"`

	// startupDeadlineSeconds is the maximum time until all replicas of an attempt run, from the creation of its first pod. A time when a
	// quota refuses all pods does not count, nor does the time of preflight checks of replicas that the job needs. Replacements of replicas
	// do not move it, but the one after a preflight check that failed. After it the job restarts for a failure of cause Startup. At most 10 years. Default: none.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	StartupDeadlineSeconds *int32 `json:"startupDeadlineSeconds,omitempty"`
}

// DefaultFinishGraceSeconds is the default of RunPolicy; the schema holds it too.
const DefaultFinishGraceSeconds int32 = 30

// FinishGrace returns the time that finishGraceSeconds is, or its default.
func (p *RunPolicy) FinishGrace() time.Duration {
	seconds := DefaultFinishGraceSeconds
	if p.FinishGraceSeconds != nil {
		seconds = *p.FinishGraceSeconds
	}
	return time.Duration(seconds) * time.Second
}

// CleanPodPolicy selects the pods of a finished job to delete.
//
// +kubebuilder:validation:Enum=None;Running;All
type CleanPodPolicy string

// The clean-up policies.
const (
	CleanNone    CleanPodPolicy = "None"
	CleanRunning CleanPodPolicy = "Running"
	CleanAll     CleanPodPolicy = "All"
)
