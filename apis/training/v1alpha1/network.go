package v1alpha1

// Network says how the pods of a job are known to each other.
type Network struct {
	// dnsNames says which pods can be found in DNS, as <job>-<role>-<index>.<job>.<namespace>.svc. All: every replica. Leader: the chief,
	// master or launcher, else worker 0; the names of the others are written nowhere, which makes a large job start and restart
	// faster and spares the cluster's DNS. Default: Leader for JAX and for PyTorch that is not elastic, whose ranks look only for their
	// leader and tell each other their addresses there; All for the rest.
	// +optional
	DNSNames DNSNames `json:"dnsNames,omitempty"`
}

// DNSNames says which pods can be found in DNS.
//
// +kubebuilder:validation:Enum=All;Leader
type DNSNames string

// The pods that can be found in DNS.
const (
	DNSNamesAll    DNSNames = "All"
	DNSNamesLeader DNSNames = "Leader"
)
