package v1alpha1

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Role is the task of a replica: one of Roles, or in a Custom job a lower-case name of its own.
type Role string

// The roles. Chief, Master and Launcher are leaders: a job has at most one of them, with one replica.
const (
	Chief     Role = "Chief"
	Master    Role = "Master"
	Launcher  Role = "Launcher"
	Worker    Role = "Worker"
	PS        Role = "PS"
	Evaluator Role = "Evaluator"
)

// Roles lists the predefined roles in the order of their ranks. A Custom job may have others.
var Roles = []Role{Chief, Master, Launcher, Worker, PS, Evaluator}

// Roles returns the roles of the job in the order of their ranks: first the roles of v1alpha1.Roles, then its own roles by name.
func (s *TrainingJobSpec) Roles() []Role {
	roles := make([]Role, 0, len(s.ReplicaSpecs))
	for role := range s.ReplicaSpecs {
		roles = append(roles, role)
	}
	slices.SortFunc(roles, Role.Compare)
	return roles
}

// Compare returns -1, 0 or 1 as the ranks of r come before, with or after the ranks of s.
func (r Role) Compare(s Role) int {
	return cmp.Or(cmp.Compare(r.place(), s.place()), cmp.Compare(r, s))
}

// place returns the place of r among Roles. A job's own role comes after them.
func (r Role) place() int {
	if i := slices.Index(Roles, r); i >= 0 {
		return i
	}
	return len(Roles)
}

// IsLeader reports whether a job can have only one replica of r, which leads the others.
func (r Role) IsLeader() bool { return r == Chief || r == Master || r == Launcher }

// ReplicaSpec is one role of a job.
//
// +kubebuilder:validation:XValidation:rule="!self.template.?metadata.annotations['kubectl.kubernetes.io/default-container'].hasValue() || self.template.spec.containers.exists(c, c.name == self.template.metadata.annotations['kubectl.kubernetes.io/default-container'])",message="the annotation kubectl.kubernetes.io/default-container of the template names no container: write the name of the container that trains, one of template.spec.containers"
type ReplicaSpec struct {
	// replicas is the number of pods of this role, 0 to 10000. Default 1. Only the Worker role of an elastic job can be scaled while the
	// job runs.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// template is the pod. The operator adds host name, subdomain, labels, environment variables that the template does not set, and
	// restartPolicy Never, because the operator restarts pods itself. May change only while suspended.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`

	// restartPolicy decides which exits restart. OnFailure: every exit code except 0 and the permanent ones. Always: also exit code 0,
	// that replica alone and not charged, unless the job waits for its success or it is a rank of a collective. ExitCode: signals, which
	// are the exit codes 129 to 192 without 139; all others fail the job. Never: none. Under every policy 93, 126 and 127 are permanent
	// and fail the job: a program exits with 93 to prevent another attempt, and a command that cannot run exits with 126 or 127. Under
	// every policy a pod that was lost without its own fault (drained, evicted, deleted) restarts. A rule of recovery.rules may decide
	// otherwise. Default OnFailure. May change at any time and counts for exits from then on.
	// +kubebuilder:default=OnFailure
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`

	// restartScope is what restarts when a replica of this role fails: Replica (only it), Role (all of its role) or Job (the whole job).
	// Default by framework and role; status.replicaStatuses shows the scope in force. May change at any time and counts for failures from
	// then on.
	// +kubebuilder:validation:Enum=Replica;Role;Job
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
}

// Replicas returns the number of replicas of a role: 0 if the job does not have the role, 1 by default.
func (s *TrainingJobSpec) Replicas(role Role) int32 {
	replicas, found := s.ReplicaSpecs[role]
	if !found {
		return 0
	}
	if replicas.Replicas == nil {
		return 1
	}
	return *replicas.Replicas
}

// RestartPolicy decides which exits of a replica restart.
//
// +kubebuilder:validation:Enum=Never;OnFailure;Always;ExitCode
type RestartPolicy string

// The restart policies.
const (
	RestartNever     RestartPolicy = "Never"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartAlways    RestartPolicy = "Always"
	RestartExitCode  RestartPolicy = "ExitCode"
)

// RestartScope is what restarts when a replica fails.
type RestartScope string

// The restart scopes, narrow to wide.
const (
	ScopeReplica RestartScope = "Replica"
	ScopeRole    RestartScope = "Role"
	ScopeJob     RestartScope = "Job"
)

// Elastic bounds the number of workers of a job that may be scaled while it runs.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="elastic.minReplicas must not be above elastic.maxReplicas"
type Elastic struct {
	// minReplicas is the number of workers with which the job can run: Running is True from there on.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +required
	MinReplicas int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of workers of the job.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +required
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// rendezvous is where the workers of a PyTorch job meet. Default: the leader holds a c10d store.
	// +optional
	Rendezvous *Rendezvous `json:"rendezvous,omitempty"`
}

// Rendezvous is where and how the workers of an elastic PyTorch job meet; torchrun reads it as PET_RDZV_*.
//
// +kubebuilder:validation:XValidation:rule="self.backend == 'c10d' || has(self.endpoint)",message="a rendezvous of another backend than c10d is outside the job: write its endpoint, host:port"
type Rendezvous struct {
	// backend is torchrun's rendezvous backend: c10d, etcd or etcd-v2. Default c10d.
	// +kubebuilder:default=c10d
	// +kubebuilder:validation:Enum=c10d;etcd;etcd-v2
	// +optional
	Backend string `json:"backend,omitempty"`
	// endpoint is host:port of a store outside the job. Default, c10d only: the job's leader; then a worker restarts alone unless it
	// is the leader. With an endpoint every worker restarts alone.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// conf are further key=value settings of the backend: "timeout=900".
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_]+=[^,]*$`
	// +listType=atomic
	// +optional
	Conf []string `json:"conf,omitempty"`
}
