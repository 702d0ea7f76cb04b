package metrics

// What is counted as statuses are written.
var (
	Restarts = &Family{
		Name: "trainingjob_restarts_total", Kind: Counter, Group: GroupEvents, Unit: "restarts",
		Help: "Restarts decided since the process began, by framework, role and cause of the failure, scope of the restart, and rung: " +
			"in_place (ranks that are well go on in their pods), elsewhere (the node is avoided from now on) or recreate.",
		Labels: []string{"framework", "role", "cause", "scope", "rung"},
	}
	NodeFaults = &Family{
		Name: "trainingjob_node_faults_total", Kind: Counter, Group: GroupEvents, Unit: "faults",
		Help: "Nodes that a job began to avoid since the process began, once more or for the first time, because the node itself broke or " +
			"is ill, by reason.",
		Labels: []string{"reason"},
	}
	Finished = &Family{
		Name: "trainingjob_finished_total", Kind: Counter, Group: GroupEvents, Unit: "jobs",
		Help:   "Jobs that have finished since the process began, by framework, result (Succeeded or Failed) and reason.",
		Labels: []string{"framework", "result", "reason"},
	}
	Lost = &Family{
		Name: "trainingjob_lost_seconds_total", Kind: Counter, Group: GroupEvents, Unit: "seconds",
		Help: "Seconds in which jobs did not train, as their statuses have added them up since the process began, by framework, by what " +
			"the job waited for (cause: queue, nodes, starting, detection, restart, redone, as in status.lostSeconds), and whether that was " +
			"during its start or during a restart. A job's wait is added when its status is next written.",
		Labels: []string{"framework", "cause", "during"},
	}
	Startup = &Family{
		Name: "trainingjob_startup_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time from a job's first start until all its replicas ran for the first time.",
		Labels: []string{"framework"}, Buckets: seconds,
	}
	QueueWait = &Family{
		Name: "trainingjob_queue_wait_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time that a job waited in its queue before it was admitted, once for each admission.",
		Labels: []string{"framework"}, Buckets: seconds,
	}
	GangWait = &Family{
		Name: "trainingjob_gang_wait_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help: "Time from a job's start, or from its resumption, until every replica's pod had a node, in the attempt that it began with, by " +
			"gang as spec.scheduling.gang says (Default: as the operator's --gang says).",
		Labels: []string{"gang"}, Buckets: seconds,
	}
	RecoveryTime = &Family{
		Name: "trainingjob_recovery_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time from a failure until what it restarted runs again, by cause and scope: all replicas of the job, of the role, or the one.",
		Labels: []string{"cause", "scope"}, Buckets: seconds,
	}
	RecoveryPart = &Family{
		Name: "trainingjob_recovery_part_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help: "The parts of the recovery of a whole job: detection (from the failure to the decision), placement (until every replica's pod has " +
			"a node: the old pods end, back-off, the wait for nodes) and start (until all replicas run).",
		Labels: []string{"part"}, Buckets: seconds,
	}
	TakenUp = &Family{
		Name: "trainingjob_taken_up_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:    "Time from the creation of a job until its first status.",
		Buckets: seconds,
	}
	Decision = &Family{
		Name: "trainingjob_decision_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help: "Time from a failure to the decision what to restart, by node_lost: true if the failure is a lost node, which Kubernetes " +
			"itself notices late.",
		Labels: []string{"node_lost"}, Buckets: seconds,
	}
	RatioAtEnd = &Family{
		Name: "trainingjob_running_time_ratio", Kind: Histogram, Group: GroupEvents, Unit: "ratio",
		Help:   "The part of its time since the first start in which a job ran, once it has finished, by framework and result.",
		Labels: []string{"framework", "result"}, Buckets: []float64{0.1, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999, 1},
	}
)

// What the cache says when it is asked. Only the replica of the operator that leads tells it.
var (
	Leads = &Family{
		Name: "trainingjob_operator_info", Kind: Gauge, Group: GroupFleet, Unit: "1",
		Help:   "1 of the replica of the operator that leads, with its version. The others tell nothing of the families read from the cache.",
		Labels: []string{"version"},
	}
	Jobs = &Family{
		Name: "trainingjob_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Jobs there are, by framework and phase; the phase is empty until the operator has come to the job.",
		Labels: []string{"framework", "phase"},
	}
	Replicas = &Family{
		Name: "trainingjob_replicas", Kind: Gauge, Group: GroupFleet, Unit: "replicas",
		Help:   "Replicas of the jobs that are under way (Created, Pending, Running or Restarting), by framework.",
		Labels: []string{"framework"},
	}
	ReadyReplicas = &Family{
		Name: "trainingjob_ready_replicas", Kind: Gauge, Group: GroupFleet, Unit: "replicas",
		Help:   "Those of trainingjob_replicas whose pod is ready, by framework.",
		Labels: []string{"framework"},
	}
	Waiting = &Family{
		Name: "trainingjob_waiting_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help: "Jobs under way that do not run, by framework and reason: one of the API's, a few of the kubelet's (ImagePullBackOff, " +
			"ErrImagePull, CrashLoopBackOff, CreateContainerConfigError), or Other.",
		Labels: []string{"framework", "reason"},
	}
	Stalled = &Family{
		Name: "trainingjob_stalled_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Jobs that have not finished and for which somebody has to act (condition Stalled), by reason.",
		Labels: []string{"reason"},
	}
	NotProgressing = &Family{
		Name: "trainingjob_hanging_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Jobs that run and have not renewed their progress Lease in time (condition Progressing is False), by framework.",
		Labels: []string{"framework"},
	}
	OldestProgress = &Family{
		Name: "trainingjob_oldest_progress_seconds", Kind: Gauge, Group: GroupFleet, Unit: "seconds",
		Help: "How long ago the progress Lease was last renewed, of the running job for which that is longest, as its status knows: a renewal " +
			"without a newer step shows there within 5 minutes.",
		Labels: []string{"framework"},
	}
	WaitingReconciles = &Family{
		Name: "trainingjob_waiting_reconciles", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help: "Jobs that wait for a reconcile because their namespace holds its share of the workers.",
	}
	WaitingWrites = &Family{
		Name: "trainingjob_waiting_writes", Kind: Gauge, Group: GroupFleet, Unit: "writes",
		Help: "Writes of pods and other children that wait because all writers, or their namespace's share of them, are busy.",
	}
	WithoutBudget = &Family{
		Name: "trainingjob_jobs_without_budget", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Jobs that have not finished and have used up a budget that was charged: one more such failure fails the job (of an evaluator: gives it up), by budget.",
		Labels: []string{"budget"},
	}
	AvoidedNodes = &Family{
		Name: "trainingjob_avoided_nodes", Kind: Gauge, Group: GroupFleet, Unit: "namespaces",
		Help:   "Namespaces whose jobs avoid a node, by node and kind: fault if the node itself broke, crash if the job's own pods failed on it.",
		Labels: []string{"kind", "node"},
	}
	BrokenNodes = &Family{
		Name: "trainingjob_broken_nodes", Kind: Gauge, Group: GroupFleet, Unit: "nodes",
		Help: "1 for each node that a job avoids and that its own status shows to be broken, by reason: NodeLost, NodeTainted (out of service), NodeIll " +
			"(a condition of --node-signals), DeviceUnhealthy (it offers fewer devices than it has). Pods cannot bring it about.",
		Labels: []string{"node", "reason"},
	}
)

// What pkg/intake exports. It has the same words, which a test compares: the adapter of Kueue needs it without this package.
var (
	WatchErrors = &Family{
		Name: "trainingjob_watch_errors_total", Kind: Counter, Group: GroupProcess, Unit: "errors",
		Help:   "Lists and watches that failed, by kind.",
		Labels: []string{"kind"},
	}
	WatchAge = &Family{
		Name: "trainingjob_watch_age_seconds", Kind: Gauge, Group: GroupProcess, Unit: "seconds",
		Help:   "Time since the last list, event or bookmark, by kind. A healthy watch has a bookmark about every minute.",
		Labels: []string{"kind"},
	}
	Undecodable = &Family{
		Name: "trainingjob_undecodable_objects", Kind: Gauge, Group: GroupProcess, Unit: "objects",
		Help:   "Objects that the API server stores and the program cannot decode, by kind. The program skips them.",
		Labels: []string{"kind"},
	}
)

// What the cache says of each job: only with --job-metrics.
var (
	JobInfo            = ofJob("info", Gauge, "1", "1 for each job, with its framework, queue and UID.", "framework", "queue", "uid")
	JobPhase           = ofJob("phase", Gauge, "1", "1 for the phase that the job is in.", "phase")
	JobReplicas        = ofJob("replicas", Gauge, "replicas", "Replicas that the job should have.")
	JobReadyReplicas   = ofJob("ready_replicas", Gauge, "replicas", "Replicas whose pod is ready.")
	JobAttempt         = ofJob("attempt", Gauge, "1", "The number of the job's attempt, from 0.")
	JobRestarts        = ofJob("restarts_total", Counter, "restarts", "Restarts of the job in all its life, as its status counts them.")
	JobChargedRestarts = ofJob("charged_restarts", Gauge, "restarts", "How many of the restarts are charged to a budget; what is given back is taken off.")
	JobRunning         = ofJob("running_seconds_total", Counter, "seconds", "Time that all replicas of the job ran, the present run included.")
	JobLost            = ofJob("lost_seconds_total", Counter, "seconds", "Seconds in which the job did not train, by cause, as status.lostSeconds says.", "cause")
	JobRatio           = ofJob("running_time_ratio", Gauge, "ratio", "The part of its time since the first start in which the job ran.")
	JobStep            = ofJob("progress_step", Gauge, "steps", "The highest step that the training has reported.")
	JobProgressAge     = ofJob("progress_age_seconds", Gauge, "seconds", "How long ago the running job renewed its progress Lease, as its status knows: up to 5 minutes too old.")
	JobCheckpointAge   = ofJob("checkpoint_age_seconds", Gauge, "seconds", "How long ago the running job reported a new checkpoint: what would be lost now.")
	JobBudgetLeft      = ofJob("budget_left", Gauge, "restarts", "How many more restarts each budget that was charged allows within its window.", "budget")
)

// ofJob returns a family that has the job's namespace and name as labels, and those given: "job" is the label by which Prometheus names what it scrapes.
func ofJob(name string, kind Kind, unit, help string, labels ...string) *Family {
	return &Family{Name: "trainingjob_job_" + name, Kind: kind, Group: GroupJobs, Unit: unit, Help: help, Labels: append([]string{"namespace", "trainingjob"}, labels...)}
}

// All are the families in the order of the catalogue.
var All = []*Family{
	Restarts, RecoveryTime, RecoveryPart, Decision, Lost, NodeFaults, TakenUp, Startup, QueueWait, GangWait, Finished, RatioAtEnd,
	Leads, WaitingReconciles, WaitingWrites, Jobs, Replicas, ReadyReplicas, Waiting, Stalled, NotProgressing, OldestProgress, WithoutBudget, AvoidedNodes, BrokenNodes,
	WatchErrors, WatchAge, Undecodable,
	JobInfo, JobPhase, JobReplicas, JobReadyReplicas, JobAttempt, JobRestarts, JobChargedRestarts, JobRunning, JobLost, JobRatio, JobStep,
	JobProgressAge, JobCheckpointAge, JobBudgetLeft,
}
