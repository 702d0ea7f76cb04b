package v1alpha1

// Scheduling sets how the job's pods get nodes: all or none, the queue, and the distance between them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.topology) || !has(self.topology.tier) || (has(self.gang) && self.gang == 'Volcano')",message="only Volcano knows tiers: write gang: Volcano, or leave topology.tier out"
// +kubebuilder:validation:XValidation:rule="!has(self.gang) || self.gang != 'None' || !has(self.minAvailable)",message="without a gang nothing is counted: leave minAvailable out, or write gang: Native, Volcano or Coscheduling"
// +kubebuilder:validation:XValidation:rule="!has(self.topology) || !has(self.topology.mode) || self.topology.mode != 'Required' || (has(self.gang) && self.gang != 'None')",message="without a gang the first pod chooses the domain, and nothing checks that the others fit there: write gang: Native, Volcano or Coscheduling beside topology.mode: Required, or mode: Preferred"
type Scheduling struct {
	// gang selects the scheduler that places all pods at once or none: Native (Kubernetes' own PodGroup), Volcano, Coscheduling (the
	// scheduler plug-in), or None. Default: the operator's --gang, with the default None.
	// +optional
	Gang Gang `json:"gang,omitempty"`
	// minAvailable is the number of pods that must fit at once. Evaluators and a Custom job's own roles do not count: they join no gang.
	// It may change while the job waits for nodes. Default: all other replicas; for an elastic job's workers minReplicas.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// queue of the gang's scheduler; only Volcano has queues. For Kueue use the label kueue.x-k8s.io/queue-name. Default: the scheduler's
	// own.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Queue string `json:"queue,omitempty"`
	// priorityClassName of the gang, and of pods whose template names none. Default: none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// schedulerName of pods whose template names none. Default: volcano for Volcano, scheduler-plugins-scheduler for Coscheduling,
	// otherwise Kubernetes' scheduler.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`
	// topology keeps the pods near each other. Default: anywhere.
	// +optional
	Topology *Topology `json:"topology,omitempty"`
	// timeoutSeconds is the maximum time until every pod (elastic: minReplicas workers) of an attempt that does not run yet has a node,
	// from the creation of its first pod. Replacements of replicas do not move it. A time when a quota refuses all pods does not count. Then the job fails. At most 10 years.
	// Default: no limit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// Topology keeps pods within one domain of the network, such as a rack.
type Topology struct {
	// key is the node label whose value names the domain: topology.kubernetes.io/rack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +required
	Key string `json:"key,omitempty"`
	// mode Required leaves the job pending while no domain has room for all its pods, and needs a gang. Preferred allows any nodes.
	// Default Preferred.
	// +kubebuilder:default=Preferred
	// +optional
	Mode TopologyMode `json:"mode,omitempty"`
	// tier is the highest tier of Volcano's HyperNodes that the job may cross; Volcano then ignores key. Default: by key.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +optional
	Tier *int32 `json:"tier,omitempty"`
	// roles whose pods must be near each other. Default: all except Evaluator and Launcher, or all if the job has no others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=set
	// +optional
	Roles []Role `json:"roles,omitempty"`
}

// Gang is the scheduler that places all pods of a job at once or none.
//
// +kubebuilder:validation:Enum=None;Native;Volcano;Coscheduling
type Gang string

// The gang schedulers.
const (
	GangNone         Gang = "None"
	GangNative       Gang = "Native"
	GangVolcano      Gang = "Volcano"
	GangCoscheduling Gang = "Coscheduling"
)

// TopologyMode is whether a topology is a requirement or a preference.
//
// +kubebuilder:validation:Enum=Preferred;Required
type TopologyMode string

// The topology modes.
const (
	TopologyPreferred TopologyMode = "Preferred"
	TopologyRequired  TopologyMode = "Required"
)
