package v1alpha1

// Labels on every child of a TrainingJob. They are for people and selectors: the operator identifies a pod by its name and controller
// reference, which users cannot edit.
const (
	// LabelJobName is the TrainingJob's name. The job's Service selects by it. The operator removes this label from a pod on a lost node,
	// so that the pod leaves the Service.
	LabelJobName = Group + "/job-name"
	// LabelJobUID is the TrainingJob's UID.
	LabelJobUID = Group + "/job-uid"
	// LabelRole is the replica's role in lower case.
	LabelRole = Group + "/role"
	// LabelIndex is the replica's index within its role, from 0.
	LabelIndex = Group + "/index"
	// LabelRank is the replica's rank within the job, from 0.
	LabelRank = Group + "/rank"
	// LabelAttempt is the attempt that the pod belongs to, from 0.
	LabelAttempt = Group + "/attempt"
	// LabelLife is the pod's life: "<attempt>-<replacement>".
	LabelLife = Group + "/life"
	// LabelNamed is on pods that DNS resolves: "true". The job's Service selects by it.
	LabelNamed = Group + "/named"
)

// LabelQueue is set by users on a TrainingJob that waits in a LocalQueue of Kueue.
const LabelQueue = "kueue.x-k8s.io/queue-name"

// AnnotationQueueMessage is the queue's message about the wait. The Kueue adapter writes it to a TrainingJob.
const AnnotationQueueMessage = Group + "/queue-message"

// AnnotationQueuePaused keeps a TrainingJob out of its queue while it is there: the Kueue adapter deactivates the job's Workload. Users, and
// kubectl tj suspend and resume, write it. The adapter writes it for a user who suspends an admitted job.
const AnnotationQueuePaused = Group + "/queue-paused"

// AnnotationQueueResized is on a suspended TrainingJob whose admission is to be taken back, and which waits in its queue then. Without it the Kueue
// adapter takes such a job for one that a user has suspended. An admission policy writes it when a user changes the number of pods of a running
// job, kubectl tj resume writes it for a suspension that the adapter may not have seen, and the adapter writes it if the API server refuses the
// former templates. The adapter removes it.
const AnnotationQueueResized = Group + "/queue-resized"

// FinalizerQuota is on a TrainingJob that a queue has admitted. It keeps a deleted job, and its quota, until the last pod is gone. The Kueue
// adapter writes and removes it.
const FinalizerQuota = Group + "/kueue-quota"

// AnnotationAdmittedWorkers shows that the queue has admitted fewer workers than the job requests: "2 of 6". The Kueue adapter writes it to a
// TrainingJob.
const AnnotationAdmittedWorkers = Group + "/kueue-admitted-workers"

// AnnotationRestart is set by users on a TrainingJob: each new text requests a restart of the whole job. A text that begins with the name
// of a replica and a colon, as "worker-3: its disk is slow", requests a restart of this replica: it gets a new pod, and the replicas restart
// with it that cannot continue without it. The text becomes the reason, and its first 256 bytes count. Begin the reason with the time to
// make it new.
const AnnotationRestart = Group + "/restart"

// AnnotationFirstAttempt is set by users on a TrainingJob that continues another one, for example after a restore: the first attempt of
// the job, from 0 to MaxFirstAttempt. Checkpoints of the old job, with smaller attempts in their names, then count as older. The operator
// reads it until the job has a status.
const AnnotationFirstAttempt = Group + "/first-attempt"

// AnnotationCarriedStatus is the status, as JSON, that a TrainingJob had in another cluster: what it has counted goes on in this one. Kueue's
// adapter writes it to a job that MultiKueue runs, before the job is dispatched again. The operator reads it from a copy that MultiKueue has
// made, until the job has a status. It refuses a text of more than MaxCarriedStatus bytes.
const AnnotationCarriedStatus = Group + "/carried-status"

// MaxCarriedStatus is the longest AnnotationCarriedStatus, in bytes.
const MaxCarriedStatus = 16 << 10

// What MultiKueue sets on the copy of a job in a worker cluster (SetMultiKueueMeta in sigs.k8s.io/kueue/pkg/controller/jobframework).
const (
	// LabelMultiKueueOrigin names the manager cluster.
	LabelMultiKueueOrigin = "kueue.x-k8s.io/multikueue-origin"
	// KueuePrebuiltWorkload is a label, or since Kueue 0.18 an annotation: the name of the job's Workload.
	KueuePrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
)

// AnnotationCluster is the name of the MultiKueueCluster in which MultiKueue runs a TrainingJob. Kueue's adapter writes it.
const AnnotationCluster = Group + "/cluster"

// MultiKueue is the spec.managedBy of jobs that Kueue dispatches to other clusters.
const MultiKueue = "kueue.x-k8s.io/multikueue"

// MaxFirstAttempt is the largest value of AnnotationFirstAttempt: names of checkpoints have room for six digits.
const MaxFirstAttempt = 999_999

// AnnotationInPlaceRestart is on pods that can restart in place: the life that the operator last started in the pod, and the process that must end
// for it. Only the operator uses it.
const AnnotationInPlaceRestart = Group + "/in-place-restart"

// AnnotationStartGate is on pods that the operator may keep after their process has ended: whether their kubelet may start the next one. The
// kubelet mounts a volume at the path that it names, and GateClosed is no path for it. Only the operator uses it.
const (
	AnnotationStartGate = Group + "/start-gate"
	GateOpen            = "open"
	GateClosed          = "../closed"
)

// AnnotationLifeNumber is on every pod of a replica: the number of its life, which TRAININGJOB_LIFE shows. Each life of the job
// has a larger number than all lives before it: attempt * 1,000,000 + the changes of lives within the attempt.
const AnnotationLifeNumber = Group + "/life-number"

// AnnotationExcludedNodes is on pods that were created while nodes were lost: the names of these nodes, separated by commas, which the pod
// excludes.
const AnnotationExcludedNodes = Group + "/excluded-nodes"

// AnnotationLeaderPort is on pods that can restart in place and meet at a port of their leader: the port of the attempt.
const AnnotationLeaderPort = Group + "/leader-port"

// AnnotationCheckpointRequest is on pods whose ranks should save a checkpoint before the operator stops them: "<id> <reason> <deadline>".
// The ranks read it in the file StopFile.
const AnnotationCheckpointRequest = Group + "/checkpoint-request"

// StopFile is the file with the request for a checkpoint, in the containers of a job with progress.checkpointGraceSeconds. It is empty
// without a request.
const StopFile = "/etc/trainingjob/stop"

// Annotations of an MPI job's launcher, which it reads as the files hostfile and machinefile: its workers and their slots.
const (
	// AnnotationHostFile has a line "<host> slots=<n>" for each worker, as Open MPI reads it.
	AnnotationHostFile = Group + "/hostfile"
	// AnnotationMachineFile has a line "<host>:<n>" for each worker, as MPICH and Intel MPI read it.
	AnnotationMachineFile = Group + "/machinefile"
)

// Annotations that users set on a Kubeflow job or a JobSet which the operator serves.
const (
	// AnnotationOverrides is a JSON merge patch (RFC 7386) of recovery, progress and successPolicy of the TrainingJob that serves the job:
	// {"recovery":{"restartMethod":"InPlace"}}. A Kubeflow job has no fields for that.
	AnnotationOverrides = Group + "/overrides"
	// AnnotationReplicaServices sets whether each replica has a Service of its own: Each, the default, or None for large jobs whose
	// programs find each other by the variables of their framework.
	AnnotationReplicaServices = Group + "/replica-services"
	// ReplicaServicesNone is the value of AnnotationReplicaServices for no Services.
	ReplicaServicesNone = "None"
)

// AnnotationKubeflowSource is on a TrainingJob that serves a Kubeflow job or a JobSet: a hash of what the operator made it from.
const AnnotationKubeflowSource = Group + "/kubeflow-source"

// AnnotationTrainJob is on a TrainingJob that serves the JobSet of a TrainJob: the name and the UID of that, with a slash between. Its user reads Events there.
const AnnotationTrainJob = Group + "/trainjob"

// KubeflowGroup is the API group of Kubeflow's jobs, and KubeflowVersion the version of those that the operator can serve.
const (
	KubeflowGroup   = "kubeflow.org"
	KubeflowVersion = KubeflowGroup + "/v1"
)

// JobSets that the operator can serve.
const (
	JobSetKind = "JobSet"
	// TrainJobKind is the kind of Trainer v2, which makes a JobSet of the same name.
	TrainJobKind    = "TrainJob"
	TrainJobVersion = "trainer.kubeflow.org/v1alpha1"
	JobSetVersion   = "jobset.x-k8s.io/v1alpha2"
	// JobSetPrefix begins the labels and annotations on the pods of JobSets.
	JobSetPrefix = "jobset.sigs.k8s.io/"
)

// Labels that tools made for the Kubeflow training operator read.
const (
	KubeflowLabelJobName      = "training.kubeflow.org/job-name"
	KubeflowLabelReplicaType  = "training.kubeflow.org/replica-type"
	KubeflowLabelReplicaIndex = "training.kubeflow.org/replica-index"
	KubeflowLabelJobRole      = "training.kubeflow.org/job-role"
	// KubeflowLabelOperatorName is only on the pods of jobs that serve a Kubeflow job: "pytorchjob-controller". Kubeflow's operator adopts
	// pods by it.
	KubeflowLabelOperatorName = "training.kubeflow.org/operator-name"
)

// Environment variables that every container of every replica gets (attempt, life and rank), or every one of a Custom job.
const (
	// EnvAttempt is status.attempt, which grows with each restart of the whole job.
	EnvAttempt = "TRAININGJOB_ATTEMPT"
	// EnvLife is a number that grows with every life of the job: restarts of any scope, resumptions and, with AnnotationFirstAttempt,
	// restores. It is the fencing token for checkpoints: two processes of one replica never have the same number, and the later one has
	// the larger.
	EnvLife = "TRAININGJOB_LIFE"
	// EnvRank is the replica's rank within the job, from 0.
	EnvRank = "TRAININGJOB_RANK"
	// EnvProgressPort is progress.port; only jobs with it have it.
	EnvProgressPort = "TRAININGJOB_PROGRESS_PORT"
	// EnvCheckpointRequestFile is StopFile; only jobs with progress.checkpointGraceSeconds have it.
	EnvCheckpointRequestFile = "TRAININGJOB_CHECKPOINT_REQUEST_FILE"
	// EnvName is the job's name.
	EnvName = "TRAININGJOB_NAME"
	// EnvRole is the replica's role in lower case.
	EnvRole = "TRAININGJOB_ROLE"
	// EnvIndex is the replica's index within its role, from 0.
	EnvIndex = "TRAININGJOB_INDEX"
	// EnvReplicas is the number of replicas of the replica's role.
	EnvReplicas = "TRAININGJOB_REPLICAS"
	// EnvLeaderAddress is the DNS name of the leader: chief, master, launcher or else worker 0.
	EnvLeaderAddress = "TRAININGJOB_LEADER_ADDRESS"
	// EnvLeaderPort is the port at which the replicas of a job that restarts in place meet in this attempt. Only PyTorch, JAX and XGBoost
	// jobs have it, and their own variables refer to it.
	EnvLeaderPort = "TRAININGJOB_LEADER_PORT"
	// EnvStartGate is AnnotationStartGate, as the kubelet reads it when it starts the main container.
	EnvStartGate = "TRAININGJOB_START_GATE"
)
