package v1alpha1

// MPISpec says how the launcher of an MPI job reaches the workers.
type MPISpec struct {
	// slotsPerWorker is how many ranks mpirun starts on each worker, unless its command line says otherwise. Default: as many as
	// the worker has GPUs or other accelerators, else 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	// +optional
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// launchAgent is how mpirun starts ranks on the workers. SSH: with a key that the operator makes for the job, and sshd in each
	// worker; a worker whose template has no command runs it. None: the images have a way of their own, and only the list of
	// hosts is the operator's. Default SSH.
	// +kubebuilder:default=SSH
	// +optional
	LaunchAgent LaunchAgent `json:"launchAgent,omitempty"`
}

// LaunchAgent is how mpirun starts ranks on other hosts.
//
// +kubebuilder:validation:Enum=SSH;None
type LaunchAgent string

// The launch agents.
const (
	LaunchAgentSSH  LaunchAgent = "SSH"
	LaunchAgentNone LaunchAgent = "None"
)

// LaunchesBySSH reports whether the launcher reaches the workers by SSH, with a key of the job's own.
func (s *TrainingJobSpec) LaunchesBySSH() bool {
	return s.Framework == MPI && (s.MPI == nil || s.MPI.LaunchAgent != LaunchAgentNone)
}
