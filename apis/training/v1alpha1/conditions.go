package v1alpha1

// The condition types. A condition is absent until it is first True, or until there is a reason for False.
const (
	// ConditionCreated is True once the operator reconciles the job.
	ConditionCreated = "Created"
	// ConditionQueued is True while a queue (the label kueue.x-k8s.io/queue-name) keeps the job suspended.
	ConditionQueued = "Queued"
	// ConditionScheduled is True when every replica's pod has a node. False shows the scheduler's message.
	ConditionScheduled = "Scheduled"
	// ConditionRunning is True from the moment all replicas (elastic: minReplicas) of an attempt run, until the attempt ends. The
	// replacement of a single replica does not end it.
	ConditionRunning = "Running"
	// ConditionRestarting is True from a whole-job restart until the new attempt runs.
	ConditionRestarting = "Restarting"
	// ConditionSuspended is True from the moment the operator sees spec.suspend until the job starts again.
	ConditionSuspended = "Suspended"
	// ConditionSucceeded is True when the job has succeeded. Final.
	ConditionSucceeded = "Succeeded"
	// ConditionFailed is True when the job has failed. Final.
	ConditionFailed = "Failed"
	// ConditionFinished is True when the job has succeeded or failed. Final.
	ConditionFinished = "Finished"
	// ConditionProgressing is True while the training reports in time, and False when it does not, or when the operator cannot read its
	// page. Only running jobs with spec.progress have it.
	ConditionProgressing = "Progressing"
	// ConditionStalled is True when the job has failed, or when it needs a person to continue.
	ConditionStalled = "Stalled"
)

// Reasons of Created, Scheduled and Running.
const (
	// ReasonJobCreated: the operator has started to reconcile the job.
	ReasonJobCreated = "JobCreated"
	// ReasonAllScheduled: every replica's pod has a node.
	ReasonAllScheduled = "AllScheduled"
	// ReasonAwaitingScheduler: the operator creates pods, or the scheduler has not tried them yet.
	ReasonAwaitingScheduler = "AwaitingScheduler"
	// ReasonUnschedulable: the scheduler finds no node for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonGangWaiting: the gang does not fit as a whole, so none of its pods is scheduled.
	ReasonGangWaiting = "GangWaiting"
	// ReasonGangUnavailable: the cluster does not serve the API of the job's gang scheduler.
	ReasonGangUnavailable = "GangUnavailable"
	// ReasonAllReplicasRunning: all replicas (elastic: minReplicas) run.
	ReasonAllReplicasRunning = "AllReplicasRunning"
	// ReasonPartiallyAdmitted: all replicas run, but the queue has admitted fewer workers than the job requests.
	ReasonPartiallyAdmitted = "PartiallyAdmitted"
	// ReasonSomeReplicasRunning: the job continues while the operator replaces a replica.
	ReasonSomeReplicasRunning = "SomeReplicasRunning"
	// ReasonReplicasStarting: a replica does not run yet.
	ReasonReplicasStarting = "ReplicasStarting"
	// ReasonBackOff: the next attempt waits for nextStartTime, or a replica for its own time; the message names it.
	ReasonBackOff = "BackOff"
	// ReasonRestartHeld: a replica has failed, and the restart waits until the others have started, or for at most 2.5 s for the exits of
	// its peers (the other ranks of a collective, or the parameter servers), or 4 s for what a kubelet has yet to report of an end.
	ReasonRestartHeld = "RestartHeld"
	// ReasonCheckpointRequested: the operator will stop healthy ranks, and they have time to save a checkpoint.
	ReasonCheckpointRequested = "CheckpointRequested"
	// ReasonFormerPodsEnding: pods of an earlier life have not ended and could still write a checkpoint.
	ReasonFormerPodsEnding = "FormerPodsEnding"
)

// Reasons of Restarting.
const (
	// ReasonReplicaFailed: a replica exited and its policy restarts it.
	ReasonReplicaFailed = "ReplicaFailed"
	// ReasonReplicaCompleted: a replica exited with code 0, and its restartPolicy Always runs it again.
	ReasonReplicaCompleted = "ReplicaCompleted"
	// ReasonReplicaLost: a replica's pod was drained, evicted or deleted, or its node is lost or unhealthy.
	ReasonReplicaLost = "ReplicaLost"
	// ReasonReplicaPreempted: a pod of higher priority preempted a replica's pod.
	ReasonReplicaPreempted = "ReplicaPreempted"
	// ReasonOutOfMemory: a replica ran out of memory.
	ReasonOutOfMemory = "OutOfMemory"
	// ReasonHang: the job stopped reporting progress.
	ReasonHang = "Hang"
	// ReasonRestartRequested: a user requested a restart of the job or of one replica.
	ReasonRestartRequested = "RestartRequested"
	// ReasonStartupFailed: a replica's container could not start.
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
	// ReasonAnyWorkerSucceeded: the leader or a worker exited with code 0, and spec.successPolicy is AnyWorker.
	ReasonAnyWorkerSucceeded = "AnyWorkerSucceeded"
	// ReasonFatalExit: a replica exited with a code that is permanent under its restart policy.
	ReasonFatalExit = "FatalExit"
	// ReasonMaxRestartsExceeded: one more failure than recovery.maxRestarts, maxOOMRestarts or maxHangRestarts allows.
	ReasonMaxRestartsExceeded = "MaxRestartsExceeded"
	// ReasonNoProgress: one more charged restart of the whole job without a newer step than recovery.noProgressLimit allows, or one more
	// of the same crash than recovery.sameCrashLimit allows.
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
	// ReasonProgressMade: the training reports in time.
	ReasonProgressMade = "ProgressMade"
	// ReasonProgressStalled: the training has not reported for progress.stallAfterSeconds.
	ReasonProgressStalled = "ProgressStalled"
	// ReasonProgressUnread: the operator has not been able to read the page of rank 0 for progress.stallAfterSeconds. The job does not count
	// as hanging.
	ReasonProgressUnread = "ProgressUnread"
)

// Reasons of failures that the operator sets. All other reasons come from Kubernetes.
const (
	// ReasonNodeLost: the replica's node has not been ready for too long.
	ReasonNodeLost = "NodeLost"
	// ReasonNodeSilent: the kubelet of the replica's node does not renew its Lease, while a restart waits for the replica, another replica is broken,
	// or the progress page is late.
	ReasonNodeSilent = "NodeSilent"
	// ReasonNodeDeleted: the replica's node was deleted.
	ReasonNodeDeleted = "NodeDeleted"
	// ReasonNodeTainted: the replica's node has an out-of-service taint, or a taint of the operator's --lost-node-taints.
	ReasonNodeTainted = "NodeTainted"
	// ReasonNodeUnhealthy: the replica's node has a condition, taint or cordon that marks it as unhealthy by the operator's --node-signals.
	ReasonNodeUnhealthy = "NodeUnhealthy"
	// ReasonDomainFull: the replica fits nowhere in the domain of scheduling.topology that the other replicas hold.
	ReasonDomainFull = "DomainFull"
	// ReasonDeviceUnhealthy: a device of the replica is broken.
	ReasonDeviceUnhealthy = "DeviceUnhealthy"
	// ReasonPreflightFailed: an init container named preflight-* ended with exit code 1: the node failed the check.
	ReasonPreflightFailed = "PreflightFailed"
	// ReasonDeleted: a user deleted the replica's pod.
	ReasonDeleted = "Deleted"
	// ReasonVanished: the replica's pod is gone, and the operator did not see its end.
	ReasonVanished = "Vanished"
)

// ReasonScaledIn is the reason of a status.checkpointRequest before replicas are removed.
const ReasonScaledIn = "ScaledIn"

// Reasons of Stalled, in addition to the reasons of Failed.
const (
	// ReasonQuotaExceeded: a ResourceQuota refuses the job's pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonForbidden: admission (pod security, a policy, a webhook, RBAC) refuses the job's pods or Service.
	ReasonForbidden = "Forbidden"
	// ReasonAdmissionUnavailable: a required admission webhook does not answer, or the API server has refused a pod or Service three times with the
	// same words and a code that may pass, such as 429 or 503.
	ReasonAdmissionUnavailable = "AdmissionUnavailable"
	// ReasonInvalid: the API server rejects the job's pods or Service as invalid.
	ReasonInvalid = "Invalid"
	// ReasonNameConflict: another owner has a pod or Service with a name that the job needs.
	ReasonNameConflict = "NameConflict"
	// ReasonPodNotEnding: a deleted pod or pod group does not end, or the job waits for the volume of a pod on a lost node.
	ReasonPodNotEnding = "PodNotEnding"
	// ReasonProceeding: the job is no longer stalled.
	ReasonProceeding = "Proceeding"
)

// Reasons of Events. Other Events have the condition types Running, Suspended, Succeeded, Failed and Stalled as reasons, or Unschedulable,
// ProgressStalled and ProgressUnread.
const (
	// EventRestarting: the whole job restarts.
	EventRestarting = "Restarting"
	// EventResumed: the job is no longer suspended.
	EventResumed = "Resumed"
	// EventReplicaRestarting: the operator replaces one replica or role, and the others continue.
	EventReplicaRestarting = "ReplicaRestarting"
	// EventCheckpointRequested: the operator requests a checkpoint before it stops the ranks.
	EventCheckpointRequested = "CheckpointRequested"
	// EventCheckpointSaved: the ranks have saved a checkpoint, and the operator stops them.
	EventCheckpointSaved = "CheckpointSaved"
	// EventCheckpointMissed: the ranks have not answered in time, and the operator stops them without a checkpoint.
	EventCheckpointMissed = "CheckpointMissed"
	// EventReplicaGivenUp: an evaluator, or a replica of a Custom job's own role, failed and is not restarted; the job continues.
	EventReplicaGivenUp = "ReplicaGivenUp"
	// EventIncidentExplained: the cause of an incident showed after the restart. A charge for it is refunded.
	EventIncidentExplained = "IncidentExplained"
	// EventNodeAvoided: new pods of the job prefer other nodes to one or several failed nodes. The Event is also on each Node that failed
	// itself or is unhealthy.
	EventNodeAvoided = "NodeAvoided"
	// EventEnvConflict: a template sets a variable that the operator also sets; the template's value wins.
	EventEnvConflict = "EnvConflict"
	// EventDeletionRefused: the API server refuses to delete a job after runPolicy.ttlSecondsAfterFinished.
	EventDeletionRefused = "DeletionRefused"
	// EventNamespaceExcluded: the operator runs no jobs in this namespace (--exclude-namespaces).
	EventNamespaceExcluded = "NamespaceExcluded"
)
