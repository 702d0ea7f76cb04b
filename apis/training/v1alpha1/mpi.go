package v1alpha1

// MPISpec sets how the launcher of an MPI job reaches the workers.
type MPISpec struct {
	// slotsPerWorker is the number of ranks that mpirun starts on each worker, unless its command line sets another. Default: the number
	// of GPUs or other accelerators of the worker, or 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	// +optional
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// launchAgent is how mpirun starts ranks on the workers. SSH: with a key that the operator creates for the job, and sshd in each
	// worker; a worker whose template has no command runs it. None: the images start ranks in another way, and the operator provides only
	// the list of hosts. Default SSH.
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

// LaunchesBySSH reports whether the launcher reaches the workers by SSH, with the job's own key.
func (s *TrainingJobSpec) LaunchesBySSH() bool {
	return s.Framework == MPI && (s.MPI == nil || s.MPI.LaunchAgent != LaunchAgentNone)
}
