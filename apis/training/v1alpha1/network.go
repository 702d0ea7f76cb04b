package v1alpha1

// Network sets how the pods of a job find each other.
type Network struct {
	// dnsNames selects the pods that DNS resolves, as <job>-<role>-<index>.<job>.<namespace>.svc. All: every replica. Leader: only the
	// chief, master or launcher, or worker 0. A large job then starts and restarts faster, and the cluster's DNS has less work. Default:
	// Leader for JAX and for PyTorch that is not elastic, whose ranks look up only their leader and exchange their addresses there. All
	// for other jobs.
	// +optional
	DNSNames DNSNames `json:"dnsNames,omitempty"`
}

// DNSNames selects the pods that DNS resolves.
//
// +kubebuilder:validation:Enum=All;Leader
type DNSNames string

// The pods that DNS resolves.
const (
	DNSNamesAll    DNSNames = "All"
	DNSNamesLeader DNSNames = "Leader"
)
