package v1alpha1

// The condition types. Each is absent until it was first true or there was a reason to deny it.
const (
	// ConditionCreated is True once the operator has taken the job on.
	ConditionCreated = "Created"
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
	// ConditionStalled is True when the job has failed, or when the operator cannot go on until somebody acts.
	ConditionStalled = "Stalled"
)

// Reasons of Created, Scheduled and Running.
const (
	// ReasonJobCreated : the operator has taken the job on.
	ReasonJobCreated = "JobCreated"
	// ReasonAllScheduled : every replica's pod has a node.
	ReasonAllScheduled = "AllScheduled"
	// ReasonAwaitingScheduler : pods are being created, or the scheduler has not yet looked at them.
	ReasonAwaitingScheduler = "AwaitingScheduler"
	// ReasonUnschedulable : the scheduler finds no node for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonAllReplicasRunning : all replicas (elastic: minReplicas) run.
	ReasonAllReplicasRunning = "AllReplicasRunning"
	// ReasonSomeReplicasRunning : the job goes on while a replica is being replaced.
	ReasonSomeReplicasRunning = "SomeReplicasRunning"
	// ReasonReplicasStarting : a replica does not run yet.
	ReasonReplicasStarting = "ReplicasStarting"
	// ReasonBackOff : the next attempt waits for nextStartTime.
	ReasonBackOff = "BackOff"
	// ReasonFormerPodsEnding : pods of an earlier life, which could still write a checkpoint, have yet to end.
	ReasonFormerPodsEnding = "FormerPodsEnding"
)

// Reasons of Restarting.
const (
	// ReasonReplicaFailed : a replica exited and its policy restarts it.
	ReasonReplicaFailed = "ReplicaFailed"
	// ReasonReplicaLost : a replica's pod was drained, evicted, preempted or deleted.
	ReasonReplicaLost = "ReplicaLost"
	// ReasonStartupDeadline : not all replicas ran within startupDeadlineSeconds.
	ReasonStartupDeadline = "StartupDeadline"
	// ReasonRestarted : the new attempt runs.
	ReasonRestarted = "Restarted"
)

// Reasons of Suspended.
const (
	// ReasonSuspended : spec.suspend is true.
	ReasonSuspended = "SuspendedBySpec"
	// ReasonResumed : spec.suspend is false again.
	ReasonResumed = "Resumed"
)

// Reasons of Succeeded, Failed and Finished.
const (
	// ReasonLeaderSucceeded : the chief, master, launcher or worker 0 exited with code 0.
	ReasonLeaderSucceeded = "LeaderSucceeded"
	// ReasonAllWorkersSucceeded : the leader and every worker exited with code 0.
	ReasonAllWorkersSucceeded = "AllWorkersSucceeded"
	// ReasonFatalExit : a replica exited in a way that its restart policy calls permanent.
	ReasonFatalExit = "FatalExit"
	// ReasonMaxRestartsExceeded : one more failure than recovery.maxRestarts allows.
	ReasonMaxRestartsExceeded = "MaxRestartsExceeded"
	// ReasonDeadlineExceeded : the job took longer than activeDeadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)

// Reasons of Stalled, beside those of Failed.
const (
	// ReasonQuotaExceeded : a ResourceQuota refuses the job's pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonForbidden : admission (pod security, a policy, RBAC) refuses the job's pods or Service.
	ReasonForbidden = "Forbidden"
	// ReasonAdmissionUnavailable : an admission webhook that must be asked does not answer.
	ReasonAdmissionUnavailable = "AdmissionUnavailable"
	// ReasonInvalid : the API server calls the job's pods or Service invalid.
	ReasonInvalid = "Invalid"
	// ReasonNameConflict : somebody else owns a pod or Service with a name the job needs.
	ReasonNameConflict = "NameConflict"
	// ReasonProceeding : what stalled the job is gone.
	ReasonProceeding = "Proceeding"
)

// Reasons of Events. The others are the condition types Running, Suspended, Succeeded, Failed and Stalled, for what has become
// true, and Unschedulable.
const (
	// EventRestarting : the whole job restarts.
	EventRestarting = "Restarting"
	// EventResumed : the job is no longer suspended.
	EventResumed = "Resumed"
	// EventReplicaRestarting : one replica or role is replaced, the others go on.
	EventReplicaRestarting = "ReplicaRestarting"
	// EventReplicaGivenUp : an evaluator failed and is not restarted; the job goes on.
	EventReplicaGivenUp = "ReplicaGivenUp"
	// EventEnvConflict : a template sets a variable that the operator would set; the template's value is used.
	EventEnvConflict = "EnvConflict"
)
