package v1alpha1

// The condition types. Each is absent until it was first true or there was a reason to deny it.
const (
	// ConditionCreated is True once the operator has taken the job on.
	ConditionCreated = "Created"
	// ConditionQueued is True while a queue (the label kueue.x-k8s.io/queue-name) keeps the job suspended.
	ConditionQueued = "Queued"
	// ConditionScheduled is True when every replica's pod has a node; False says what the scheduler misses.
	ConditionScheduled = "Scheduled"
	// ConditionRunning is True from the moment all replicas (elastic: minReplicas) of an attempt run, until the
	// attempt ends. A single replica that is being replaced does not end it.
	ConditionRunning = "Running"
	// ConditionRestarting is True from a whole-job restart until the new attempt runs.
	ConditionRestarting = "Restarting"
	// ConditionSuspended is True from the moment spec.suspend was seen until the job is started again.
	ConditionSuspended = "Suspended"
	// ConditionSucceeded is True when the job has succeeded. Final.
	ConditionSucceeded = "Succeeded"
	// ConditionFailed is True when the job has failed. Final.
	ConditionFailed = "Failed"
	// ConditionFinished is True when the job has succeeded or failed. Final.
	ConditionFinished = "Finished"
	// ConditionProgressing is True while the job renews its progress Lease in time, and False when it does not. It is
	// there only for running jobs with spec.progress.
	ConditionProgressing = "Progressing"
	// ConditionStalled is True when the job has failed, or when the operator cannot go on until somebody acts.
	ConditionStalled = "Stalled"
)

// Reasons of Created, Scheduled and Running.
const (
	// ReasonJobCreated: the operator has taken the job on.
	ReasonJobCreated = "JobCreated"
	// ReasonAllScheduled: every replica's pod has a node.
	ReasonAllScheduled = "AllScheduled"
	// ReasonAwaitingScheduler: pods are being created, or the scheduler has not yet looked at them.
	ReasonAwaitingScheduler = "AwaitingScheduler"
	// ReasonUnschedulable: the scheduler finds no node for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonGangWaiting: the gang does not fit as a whole, so none of its pods is scheduled.
	ReasonGangWaiting = "GangWaiting"
	// ReasonGangUnavailable: the cluster does not serve the API of the job's gang scheduler.
	ReasonGangUnavailable = "GangUnavailable"
	// ReasonAllReplicasRunning: all replicas (elastic: minReplicas) run.
	ReasonAllReplicasRunning = "AllReplicasRunning"
	// ReasonPartiallyAdmitted: all replicas run, but the queue has admitted fewer workers than the job asks for.
	ReasonPartiallyAdmitted = "PartiallyAdmitted"
	// ReasonSomeReplicasRunning: the job goes on while a replica is being replaced.
	ReasonSomeReplicasRunning = "SomeReplicasRunning"
	// ReasonReplicasStarting: a replica does not run yet.
	ReasonReplicasStarting = "ReplicasStarting"
	// ReasonBackOff: the next attempt waits for nextStartTime, or a replica for its own time; the message names it.
	ReasonBackOff = "BackOff"
	// ReasonRestartHeld: a replica has failed, and the restart waits until the others have started or, for at most 2.5 s, until the
	// other ranks of a collective have ended too.
	ReasonRestartHeld = "RestartHeld"
	// ReasonStopAsked: the ranks are to be stopped although they are well, and have a moment to save a checkpoint.
	ReasonStopAsked = "StopAsked"
	// ReasonFormerPodsEnding: pods of an earlier life, which could still write a checkpoint, have yet to end.
	ReasonFormerPodsEnding = "FormerPodsEnding"
)

// Reasons of Restarting.
const (
	// ReasonReplicaFailed: a replica exited and its policy restarts it.
	ReasonReplicaFailed = "ReplicaFailed"
	// ReasonReplicaCompleted: a replica exited with code 0, and its restartPolicy Always runs it again.
	ReasonReplicaCompleted = "ReplicaCompleted"
	// ReasonReplicaLost: a replica's pod was drained, evicted or deleted, or its node was lost or is to be left.
	ReasonReplicaLost = "ReplicaLost"
	// ReasonReplicaPreempted: a replica's pod made way for one of higher priority.
	ReasonReplicaPreempted = "ReplicaPreempted"
	// ReasonOutOfMemory: a replica ran out of memory.
	ReasonOutOfMemory = "OutOfMemory"
	// ReasonHang: the job stopped reporting progress.
	ReasonHang = "Hang"
	// ReasonRestartRequested: somebody asked for a restart of the whole job.
	ReasonRestartRequested = "RestartRequested"
	// ReasonStartupFailed: a replica's container could not be started.
	ReasonStartupFailed = "StartupFailed"
	// ReasonStartupDeadline: not all replicas ran within startupDeadlineSeconds.
	ReasonStartupDeadline = "StartupDeadline"
	// ReasonRestarted: the new attempt runs.
	ReasonRestarted = "Restarted"
)

// Reasons of Suspended and Queued.
const (
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "SuspendedBySpec"
	// ReasonQueued: the job waits in its queue to be admitted.
	ReasonQueued = "AwaitingAdmission"
	// ReasonResumed: spec.suspend is false again.
	ReasonResumed = "Resumed"
)

// Reasons of Succeeded, Failed and Finished.
const (
	// ReasonLeaderSucceeded: the chief, master, launcher or worker 0 exited with code 0.
	ReasonLeaderSucceeded = "LeaderSucceeded"
	// ReasonAllWorkersSucceeded: the leader and every worker exited with code 0.
	ReasonAllWorkersSucceeded = "AllWorkersSucceeded"
	// ReasonFatalExit: a replica exited in a way that its restart policy calls permanent.
	ReasonFatalExit = "FatalExit"
	// ReasonMaxRestartsExceeded: one more failure than recovery.maxRestarts, maxOOMRestarts or maxHangRestarts allows.
	ReasonMaxRestartsExceeded = "MaxRestartsExceeded"
	// ReasonNoProgress: one more charged restart of the whole job without a newer step than recovery.noProgressLimit allows.
	ReasonNoProgress = "NoProgress"
	// ReasonSchedulingTimeout: not every pod had a node within scheduling.timeoutSeconds.
	ReasonSchedulingTimeout = "SchedulingTimeout"
	// ReasonFailJobRule: a rule of recovery.rules fails the job.
	ReasonFailJobRule = "FailJobRule"
	// ReasonDeadlineExceeded: the job took longer than activeDeadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)

// Reasons of Progressing.
const (
	// ReasonProgressMade: the progress Lease is renewed in time.
	ReasonProgressMade = "ProgressMade"
	// ReasonProgressStalled: the progress Lease was not renewed for progress.stallAfterSeconds.
	ReasonProgressStalled = "ProgressStalled"
)

// Reasons of failures that the operator itself gives; the others are Kubernetes' own.
const (
	// ReasonNodeLost: the replica's node has not been ready for too long.
	ReasonNodeLost = "NodeLost"
	// ReasonNodeDeleted: the replica's node was deleted.
	ReasonNodeDeleted = "NodeDeleted"
	// ReasonNodeTainted: the replica's node is tainted as out of service, or as the operator's --lost-node-taints say.
	ReasonNodeTainted = "NodeTainted"
	// ReasonNodeIll: the replica's node says of itself that it is ill, or somebody does, as the operator's --node-signals have it.
	ReasonNodeIll = "NodeIll"
	// ReasonDomainFull: the replica must be in one domain of scheduling.topology with others, which hold their nodes, and fits nowhere there.
	ReasonDomainFull = "DomainFull"
	// ReasonDeviceUnhealthy: a device of the replica's is broken.
	ReasonDeviceUnhealthy = "DeviceUnhealthy"
	// ReasonDeleted: somebody deleted the replica's pod.
	ReasonDeleted = "Deleted"
	// ReasonVanished: the replica's pod is gone without a trace.
	ReasonVanished = "Vanished"
)

// ReasonScaledIn is the reason of a status.checkpointRequest when replicas are taken away.
const ReasonScaledIn = "ScaledIn"

// Reasons of Stalled, beside those of Failed.
const (
	// ReasonQuotaExceeded: a ResourceQuota refuses the job's pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonForbidden: admission (pod security, a policy, RBAC) refuses the job's pods or Service.
	ReasonForbidden = "Forbidden"
	// ReasonAdmissionUnavailable: an admission webhook that must be asked does not answer.
	ReasonAdmissionUnavailable = "AdmissionUnavailable"
	// ReasonInvalid: the API server calls the job's pods or Service invalid.
	ReasonInvalid = "Invalid"
	// ReasonNameConflict: somebody else owns a pod or Service with a name the job needs.
	ReasonNameConflict = "NameConflict"
	// ReasonPodNotEnding: the job waits for a pod, a spare or a pod group that was told to end and does not, or for the volume of a pod on a lost node.
	ReasonPodNotEnding = "PodNotEnding"
	// ReasonProceeding: what stalled the job is gone.
	ReasonProceeding = "Proceeding"
)

// Reasons of Events. The others are the condition types Running, Suspended, Succeeded, Failed and Stalled, for what has become
// true, Unschedulable and ProgressStalled.
const (
	// EventRestarting: the whole job restarts.
	EventRestarting = "Restarting"
	// EventResumed: the job is no longer suspended.
	EventResumed = "Resumed"
	// EventReplicaRestarting: one replica or role is replaced, the others go on.
	EventReplicaRestarting = "ReplicaRestarting"
	// EventStopAsked: the ranks are asked to save a checkpoint, as they are to be stopped.
	EventStopAsked = "StopAsked"
	// EventCheckpointSaved: the ranks have saved one, and are stopped.
	EventCheckpointSaved = "CheckpointSaved"
	// EventCheckpointMissed: the ranks have not answered in time, and are stopped without.
	EventCheckpointMissed = "CheckpointMissed"
	// EventReplicaGivenUp: an evaluator failed and is not restarted; the job goes on.
	EventReplicaGivenUp = "ReplicaGivenUp"
	// EventIncidentExplained: the cause of an incident showed after the restart; what was charged is given back.
	EventIncidentExplained = "IncidentExplained"
	// EventNodeAvoided: new pods of the job prefer other nodes than one, or several that broke alike; it is on each Node, too, if it broke itself or is ill.
	EventNodeAvoided = "NodeAvoided"
	// EventWorkersParked: workers of an elastic job are parked for lack of room.
	EventWorkersParked = "WorkersParked"
	// EventWorkersUnparked: workers of an elastic job that were parked are tried again.
	EventWorkersUnparked = "WorkersUnparked"
	// EventSpareUsed: a placeholder pod makes way for a replica.
	EventSpareUsed = "SpareUsed"
	// EventSpareRefused: the API server refuses a placeholder pod; the job goes on without.
	EventSpareRefused = "SpareRefused"
	// EventEnvConflict: a template sets a variable that the operator would set; the template's value is used.
	EventEnvConflict = "EnvConflict"
	// EventDeletionRefused: the API server refuses to delete a job after runPolicy.ttlSecondsAfterFinished.
	EventDeletionRefused = "DeletionRefused"
	// EventNamespaceExcluded: the operator runs no jobs in this namespace, see --exclude-namespaces.
	EventNamespaceExcluded = "NamespaceExcluded"
)
