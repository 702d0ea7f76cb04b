package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrainingJob is a distributed training run: replicas by role that find each other, and the reaction to their failures.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tj,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:selectablefield:JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.ready
// +kubebuilder:printcolumn:name=Restarts,type=integer,JSONPath=.status.restarts
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=.status.reason
// +kubebuilder:printcolumn:name=Framework,type=string,JSONPath=.spec.framework,priority=1
// +kubebuilder:printcolumn:name=Queue,type=string,JSONPath=`.metadata.labels.kueue\.x-k8s\.io/queue-name`,priority=1
// +kubebuilder:printcolumn:name=Attempt,type=integer,JSONPath=.status.attempt,priority=1
// +kubebuilder:printcolumn:name=Step,type=integer,JSONPath=.status.progress.step,priority=1
// +kubebuilder:printcolumn:name=Checkpoint,type=string,JSONPath=.status.progress.checkpoint,priority=1
// +kubebuilder:printcolumn:name="Last Failure",type=string,JSONPath=.status.lastFailure.message,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name becomes the name of a Service and part of host names: write lower-case letters, digits and '-', beginning with a letter"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40 || self.spec.replicaSpecs.all(r, size(self.metadata.name) + size(r) + 2 + size(string(r == 'Worker' && has(self.spec.elastic) ? self.spec.elastic.maxReplicas : self.spec.replicaSpecs[r].replicas)) <= 63)",message="metadata.name is too long: each replica gets the host name <name>-<role>-<index>, which must fit the 63 characters of a DNS label; write a shorter name"
// +kubebuilder:validation:XValidation:rule="self.spec.framework != 'MPI' || !('Worker' in self.spec.replicaSpecs) || self.spec.replicaSpecs['Worker'].replicas * (4 * size(self.metadata.name) + 48) <= 250000",message="an MPI launcher gets its list of hosts as annotations, which cannot hold that many workers: write fewer replicas, each with more mpi.slotsPerWorker, or a shorter metadata.name"
// +kubebuilder:validation:XValidation:rule="self.spec.framework != 'TensorFlow' || has(self.spec.elastic) || self.spec.replicaSpecs.filter(r, r != 'Evaluator').map(r, self.spec.replicaSpecs[r].replicas * (2 * size(self.metadata.name) + size(r) + 17) + (self.spec.replicaSpecs[r].replicas > 1000 ? 4 * self.spec.replicaSpecs[r].replicas - 1110 : self.spec.replicaSpecs[r].replicas > 100 ? 3 * self.spec.replicaSpecs[r].replicas - 110 : self.spec.replicaSpecs[r].replicas)).sum() <= 130980",message="TF_CONFIG names every replica, and no program starts with a variable above 128 KiB: write fewer replicas, or a shorter metadata.name; a job with parameter servers can write elastic, whose TF_CONFIG names those and one worker"
// +kubebuilder:validation:XValidation:rule="!(self.spec.framework in ['XGBoost', 'LightGBM'] || (self.spec.framework == 'Paddle' && 'PS' in self.spec.replicaSpecs && self.spec.replicaSpecs['PS'].replicas > 0)) || self.spec.replicaSpecs.all(r, !(r in ['PS', 'Worker']) || (self.spec.replicaSpecs[r].replicas - 1) * (2 * size(self.metadata.name) + 16 + (self.spec.framework == 'XGBoost' ? 0 : size(r))) + (self.spec.replicaSpecs[r].replicas > 1000 ? 4 * self.spec.replicaSpecs[r].replicas - 1110 : self.spec.replicaSpecs[r].replicas > 100 ? 3 * self.spec.replicaSpecs[r].replicas - 110 : self.spec.replicaSpecs[r].replicas) <= 131060)",message="one variable names every worker of an XGBoost or LightGBM job, and every worker or server of a Paddle job with parameter servers, and no program starts with a variable above 128 KiB: write fewer replicas, or a shorter metadata.name"
// +kubebuilder:validation:XValidation:rule="self.?status.memory.countedTime != oldSelf.?status.memory.countedTime || self.spec.replicaSpecs.map(r, size(self.spec.replicaSpecs[r].template.?spec.containers.orValue([])) + size(self.spec.replicaSpecs[r].template.?spec.initContainers.orValue([]))).sum() <= 8 || self.spec.replicaSpecs.map(r, size(self.spec.replicaSpecs[r].template.?spec.containers.orValue([])) + size(self.spec.replicaSpecs[r].template.?spec.initContainers.orValue([]))).sum() <= 64 && self.spec.replicaSpecs.map(r, (has(self.spec.replicaSpecs[r].template.spec.containers) ? self.spec.replicaSpecs[r].template.spec.containers.map(c, (has(c.env) ? size(c.env) : 0) + (has(c.args) ? size(c.args) : 0) + (has(c.command) ? size(c.command) : 0) + (has(c.volumeMounts) ? size(c.volumeMounts) : 0) + (has(c.ports) ? size(c.ports) : 0)).sum() : 0) + (has(self.spec.replicaSpecs[r].template.spec.initContainers) ? self.spec.replicaSpecs[r].template.spec.initContainers.map(c, (has(c.env) ? size(c.env) : 0) + (has(c.args) ? size(c.args) : 0) + (has(c.command) ? size(c.command) : 0) + (has(c.volumeMounts) ? size(c.volumeMounts) : 0) + (has(c.ports) ? size(c.ports) : 0)).sum() : 0)).sum() <= 2048",message="the templates of all roles together have at most 64 containers, init containers included, and more than 8 have at most 2048 variables, arguments, mounts and ports: write a file of a ConfigMap or of the image instead",fieldPath=".spec.replicaSpecs",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="self.?status.memory.countedTime != oldSelf.?status.memory.countedTime || (self.spec.suspend || oldSelf.spec.suspend) && !(oldSelf.?status.phase.orValue('None') in ['Succeeded', 'Failed']) || (has(self.spec.elastic) ? has(oldSelf.spec.elastic) && self.spec.elastic == oldSelf.spec.elastic : !has(oldSelf.spec.elastic)) && (self.spec.?network.dnsNames == oldSelf.spec.?network.dnsNames) && (has(self.spec.mpi) ? has(oldSelf.spec.mpi) && self.spec.mpi == oldSelf.spec.mpi : !has(oldSelf.spec.mpi)) && (self.spec.?scheduling.gang == oldSelf.spec.?scheduling.gang && self.spec.?scheduling.queue == oldSelf.spec.?scheduling.queue && self.spec.?scheduling.priorityClassName == oldSelf.spec.?scheduling.priorityClassName && self.spec.?scheduling.schedulerName == oldSelf.spec.?scheduling.schedulerName && self.spec.?scheduling.topology == oldSelf.spec.?scheduling.topology && self.spec.?scheduling.timeoutSeconds == oldSelf.spec.?scheduling.timeoutSeconds) && (size(self.spec.replicaSpecs) == size(oldSelf.spec.replicaSpecs) && self.spec.replicaSpecs.all(r, r in oldSelf.spec.replicaSpecs)) && (self.spec.replicaSpecs.all(r, self.spec.replicaSpecs[r].replicas == oldSelf.spec.replicaSpecs[r].replicas || r == 'Worker' && has(self.spec.elastic))) && self.spec.replicaSpecs.all(r, self.spec.replicaSpecs[r].template == oldSelf.spec.replicaSpecs[r].template)",messageExpression="oldSelf.?status.phase.orValue('None') in ['Succeeded', 'Failed'] ? 'the job has finished and does not run again: delete it before you apply the change, or create another job with another name' : !(has(self.spec.elastic) ? has(oldSelf.spec.elastic) && self.spec.elastic == oldSelf.spec.elastic : !has(oldSelf.spec.elastic)) ? 'elastic may change only while the job is suspended: set suspend: true first' : self.spec.?network.dnsNames != oldSelf.spec.?network.dnsNames ? 'network may change only while the job is suspended: set suspend: true first' : !(has(self.spec.mpi) ? has(oldSelf.spec.mpi) && self.spec.mpi == oldSelf.spec.mpi : !has(oldSelf.spec.mpi)) ? 'mpi may change only while the job is suspended: set suspend: true first' : !(self.spec.?scheduling.gang == oldSelf.spec.?scheduling.gang && self.spec.?scheduling.queue == oldSelf.spec.?scheduling.queue && self.spec.?scheduling.priorityClassName == oldSelf.spec.?scheduling.priorityClassName && self.spec.?scheduling.schedulerName == oldSelf.spec.?scheduling.schedulerName && self.spec.?scheduling.topology == oldSelf.spec.?scheduling.topology && self.spec.?scheduling.timeoutSeconds == oldSelf.spec.?scheduling.timeoutSeconds) ? 'scheduling may change only while the job is suspended, except minAvailable: set suspend: true first' : !(size(self.spec.replicaSpecs) == size(oldSelf.spec.replicaSpecs) && self.spec.replicaSpecs.all(r, r in oldSelf.spec.replicaSpecs)) ? 'roles may be added or removed only while the job is suspended: set suspend: true first' : !self.spec.replicaSpecs.all(r, self.spec.replicaSpecs[r].replicas == oldSelf.spec.replicaSpecs[r].replicas || r == 'Worker' && has(self.spec.elastic)) ? 'replicas of a job that runs may change only for the Worker role of an elastic job: set elastic (minReplicas, maxReplicas) when creating the job, or suspend: true before scaling' : 'pod templates may change only while the job is suspended: set suspend: true first'",fieldPath=".spec"
// +kubebuilder:validation:XValidation:rule="!(oldSelf.?status.phase.orValue('None') in ['Succeeded', 'Failed']) || oldSelf.spec.suspend || !self.spec.suspend",message="the job has finished, so it cannot be suspended: delete it, or create another job with another name",fieldPath=".spec.suspend"
type TrainingJob struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name is also the name of the job's headless Service.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired training.
	// +required
	Spec TrainingJobSpec `json:"spec"`
	// status is what the operator observed and decided. Only the operator writes it.
	// +optional
	Status TrainingJobStatus `json:"status,omitempty"`
}

// TrainingJobList is a list of TrainingJobs.
//
// +kubebuilder:object:root=true
type TrainingJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrainingJob `json:"items"`
}

// TrainingJobSpec is the desired training.
//
// +kubebuilder:validation:XValidation:rule="self.framework == oldSelf.framework",message="framework cannot change: create another job"
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="managedBy cannot change: create another job"
// +kubebuilder:validation:XValidation:rule="self.framework == 'Custom' || [{'PyTorch': ['Master', 'Worker', 'Evaluator'], 'JAX': ['Worker', 'Evaluator'], 'XGBoost': ['Master', 'Worker', 'Evaluator'], 'LightGBM': ['Master', 'Worker', 'Evaluator'], 'Paddle': ['Master', 'PS', 'Worker', 'Evaluator'], 'TensorFlow': ['Chief', 'PS', 'Worker', 'Evaluator'], 'MPI': ['Launcher', 'Worker']}[self.framework]].all(roles, self.replicaSpecs.all(r, r in roles))",messageExpression="{'PyTorch': 'a PyTorch job has the roles Master, Worker and Evaluator; write framework: TensorFlow or framework: Custom for parameter servers, a Chief or a Launcher', 'JAX': 'a JAX job has the roles Worker and Evaluator; worker 0 is its coordinator', 'XGBoost': 'an XGBoost or LightGBM job has the roles Master, Worker and Evaluator', 'LightGBM': 'an XGBoost or LightGBM job has the roles Master, Worker and Evaluator', 'Paddle': 'a Paddle job has the roles Master, PS, Worker and Evaluator; write PS for what was a Master with parameters in a PaddleJob', 'TensorFlow': 'a TensorFlow job has the roles Chief, PS, Worker and Evaluator; write Chief instead of Master', 'MPI': 'an MPI job has a Launcher, which runs mpirun, and at least one Worker; it has no other roles'}[self.framework]"
// +kubebuilder:validation:XValidation:rule="self.framework != 'MPI' || ['Launcher', 'Worker'].all(r, r in self.replicaSpecs && self.replicaSpecs[r].replicas > 0)",message="an MPI job has a Launcher, which runs mpirun, and at least one Worker; it has no other roles"
// +kubebuilder:validation:XValidation:rule="self.framework != 'MPI' || self.successPolicy == 'Leader'",message="the workers of an MPI job do not end by themselves: write successPolicy: Leader"
// +kubebuilder:validation:XValidation:rule="!has(self.mpi) || self.framework == 'MPI'",message="only an MPI job has a launcher that needs mpi: write framework: MPI or leave mpi out"
// +kubebuilder:validation:XValidation:rule="self.framework != 'MPI' || self.?mpi.launchAgent.orValue('SSH') == 'None' || self.replicaSpecs.all(r, !self.replicaSpecs[r].template.?spec.securityContext.fsGroup.hasValue() || self.replicaSpecs[r].template.?spec.securityContext.runAsUser.orValue(self.replicaSpecs[r].template.?spec.securityContext.runAsNonRoot.orValue(false) ? 1 : 0) > 0)",message="ssh of root takes no key that a group may read, and fsGroup makes the job's key such a one: leave securityContext.fsGroup out, or write the runAsUser of another user beside it"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || self.framework in ['PyTorch', 'TensorFlow', 'Custom']",message="only PyTorch, TensorFlow and Custom jobs can be elastic: the number of processes of the others is fixed; leave elastic out"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || self.framework != 'TensorFlow' || ('PS' in self.replicaSpecs && self.replicaSpecs['PS'].replicas > 0)",message="a TensorFlow job without parameter servers cannot be elastic: its workers wait for each other; write a PS role or leave elastic out"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || !has(self.elastic.rendezvous) || self.framework == 'PyTorch'",message="only PyTorch jobs meet at a rendezvous: leave elastic.rendezvous out"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || ('Worker' in self.replicaSpecs && self.replicaSpecs['Worker'].replicas >= self.elastic.minReplicas && self.replicaSpecs['Worker'].replicas <= self.elastic.maxReplicas)",message="an elastic job needs replicaSpecs.Worker.replicas between elastic.minReplicas and elastic.maxReplicas"
// +kubebuilder:validation:XValidation:rule="self.?network.dnsNames.orValue('All') == 'All' || self.framework in ['JAX', 'Custom'] || (self.framework == 'PyTorch' && !has(self.elastic))",message="only the ranks of JAX, Custom and PyTorch jobs that are not elastic find each other by their leader alone: leave network.dnsNames out or write All"
// +kubebuilder:validation:XValidation:rule="!self.?scheduling.topology.roles.hasValue() || self.scheduling.topology.roles.all(r, r in self.replicaSpecs) && self.scheduling.topology.roles.exists(r, self.replicaSpecs[r].replicas > 0)",message="scheduling.topology.roles names a role that the job does not have: write roles of replicaSpecs, one of them with replicas"
// +kubebuilder:validation:XValidation:rule="!self.?progress.port.hasValue() || self.replicaSpecs.all(r, !self.replicaSpecs[r].template.?spec.hostNetwork.orValue(false) || has(self.replicaSpecs[r].template.spec.containers) && self.replicaSpecs[r].template.spec.containers.exists(c, has(c.ports) && c.ports.exists(p, p.containerPort == self.progress.port && p.protocol == 'TCP' && !has(p.hostIP))))",message="with hostNetwork the operator reads the page of progress.port at the address of a node: name that port in the ports of the role's main container, without hostIP, so that the scheduler keeps it free of other pods, or leave hostNetwork out"
// +kubebuilder:validation:XValidation:rule="!self.?progress.port.hasValue() || !(self.progress.port in [2379, 2380, 2381, 6443] || self.progress.port >= 10248 && self.progress.port <= 10260) || self.replicaSpecs.all(r, !self.replicaSpecs[r].template.?spec.hostNetwork.orValue(false))",message="with hostNetwork progress.port must not be a port of Kubernetes on its nodes (2379 to 2381, 6443, 10248 to 10260): choose another one"
type TrainingJobSpec struct {
	// framework selects the variables that the replicas need to find each other: TensorFlow (TF_CONFIG), PyTorch (MASTER_ADDR, RANK,
	// PET_*), JAX (JAX_COORDINATOR_ADDRESS, ...), MPI (a host file, and SSH to the workers), XGBoost (DMLC_*, MASTER_ADDR, RANK),
	// LightGBM (LIGHTGBM_MACHINES, MASTER_ADDR, RANK), Paddle (PADDLE_*) or Custom (TRAININGJOB_* only). It also selects the default
	// restart scopes. Immutable.
	// +required
	Framework Framework `json:"framework,omitempty"`

	// suspend true deletes the pods and keeps all counts; false starts the job again. Queues such as Kueue write it. Default false. May
	// change at any time.
	// +kubebuilder:default=false
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// managedBy names the controller of this job. The operator ignores a job of another controller. Default: trainingjob.dev/operator,
	// this operator. Immutable.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ManagedBy string `json:"managedBy,omitempty"`

	// replicaSpecs has the number of pods and the template of each role (Chief, Master, Launcher, PS, Worker, Evaluator). A Custom job
	// may have roles of its own: a name in lower case, such as actor, learner or loader; 16 roles at most.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(r, r in ['Chief', 'Master', 'Launcher', 'PS', 'Worker', 'Evaluator'] || (r.matches('^[a-z][a-z0-9]{0,14}$') && !(r in ['chief', 'master', 'launcher', 'ps', 'worker', 'evaluator'])))",message="unknown role: write Chief, Master, Launcher, PS, Worker or Evaluator; a Custom job may have others, with names of 1 to 15 lower-case letters and digits"
	// +kubebuilder:validation:XValidation:rule="self.exists(r, r in ['Chief', 'Master', 'Launcher', 'Worker'] && self[r].replicas > 0)",message="no replica can decide the job: write a Worker, Chief, Master or Launcher with at least 1 replica"
	// +kubebuilder:validation:XValidation:rule="self.filter(r, r in ['Chief', 'Master', 'Launcher']).size() <= 1",message="a job has one leader: write only one of Chief, Master and Launcher"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r in ['Chief', 'Master', 'Launcher']) || self[r].replicas <= 1)",message="a job has one leader: write replicas: 1 for Chief, Master or Launcher"
	// +kubebuilder:validation:XValidation:rule="self.map(r, self[r].replicas).sum() <= 10000",message="a job has at most 10000 replicas in all roles together"
	// +required
	ReplicaSpecs map[Role]ReplicaSpec `json:"replicaSpecs,omitempty"`

	// elastic lets the number of workers change while the job runs, within bounds. Default: fixed.
	// May change only while suspended.
	// +optional
	Elastic *Elastic `json:"elastic,omitempty"`

	// mpi sets how the launcher of an MPI job reaches the workers. May change only while suspended.
	// +optional
	MPI *MPISpec `json:"mpi,omitempty"`

	// successPolicy selects the replicas whose exit code 0 ends the job with success. Leader: the chief, master or launcher, or worker 0.
	// AllWorkers: every leader and worker. AnyWorker: the first leader or worker that ends so. Default Leader. May change at any time and
	// counts at once.
	// +kubebuilder:default=Leader
	// +optional
	SuccessPolicy SuccessPolicy `json:"successPolicy,omitempty"`

	// runPolicy sets the deadlines and the clean-up. May change at any time and counts at once. Its times count from the same moments as
	// before.
	// +kubebuilder:default={}
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`

	// recovery sets what restarts, how often and how fast. May change at any time and counts from then on; restartMethod counts from the
	// next attempt.
	// +kubebuilder:default={}
	// +optional
	Recovery Recovery `json:"recovery,omitempty"`

	// scheduling sets how the job's pods get nodes: all or none, the queue, and the distance between them. Default: each pod separately,
	// unless the operator's --gang sets a gang. May change only while suspended.
	// +optional
	Scheduling *Scheduling `json:"scheduling,omitempty"`

	// network selects the pods with names in DNS. May change only while suspended.
	// +optional
	Network *Network `json:"network,omitempty"`

	// progress lets the job report its progress, so that the operator detects a hang. Default: no report. May change at any time. A pod
	// from before cannot report and does not hang.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
}

// OperatorName is the name of this operator in spec.managedBy.
const OperatorName = Group + "/operator"

// IsSuspended reports whether the job is to have no pods.
func (s *TrainingJobSpec) IsSuspended() bool { return s.Suspend != nil && *s.Suspend }

// IsManagedElsewhere reports whether another controller runs the job.
func (s *TrainingJobSpec) IsManagedElsewhere() bool {
	return s.ManagedBy != "" && s.ManagedBy != OperatorName
}

// IsDispatched reports whether MultiKueue runs the job in another cluster.
func (s *TrainingJobSpec) IsDispatched() bool { return s.ManagedBy == MultiKueue }

// Framework is the training framework whose launcher the replicas run.
//
// +kubebuilder:validation:Enum=TensorFlow;PyTorch;JAX;MPI;XGBoost;LightGBM;Paddle;Custom
type Framework string

// The frameworks.
const (
	TensorFlow Framework = "TensorFlow"
	PyTorch    Framework = "PyTorch"
	JAX        Framework = "JAX"
	MPI        Framework = "MPI"
	XGBoost    Framework = "XGBoost"
	LightGBM   Framework = "LightGBM"
	Paddle     Framework = "Paddle"
	Custom     Framework = "Custom"
)

// SuccessPolicy selects the replicas whose success is the success of the job.
//
// +kubebuilder:validation:Enum=Leader;AllWorkers;AnyWorker
type SuccessPolicy string

// The success policies.
const (
	SuccessLeader     SuccessPolicy = "Leader"
	SuccessAllWorkers SuccessPolicy = "AllWorkers"
	SuccessAnyWorker  SuccessPolicy = "AnyWorker"
)
