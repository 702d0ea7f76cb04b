package metrics

// What is counted as statuses are written.
var (
	Restarts = &Family{
		Name: "trainingjob_restarts_total", Kind: Counter, Group: GroupEvents, Unit: "restarts",
		Help: "Restarts decided since the process began, by framework, role and cause of the failure, scope of the restart, and strategy: " +
			"in_place (healthy ranks restart in their pods), elsewhere (the job avoids the node from now on) or recreate.",
		Labels: []string{"framework", "role", "cause", "scope", "strategy"},
	}
	NodeFaults = &Family{
		Name: "trainingjob_node_faults_total", Kind: Counter, Group: GroupEvents, Unit: "faults",
		Help:   "Times that a job began to avoid a node since the process began, because the node itself failed or is unhealthy, by reason.",
		Labels: []string{"reason"},
	}
	Finished = &Family{
		Name: "trainingjob_finished_total", Kind: Counter, Group: GroupEvents, Unit: "jobs",
		Help:   "Jobs that have finished since the process began, by framework, result (Succeeded or Failed) and reason.",
		Labels: []string{"framework", "result", "reason"},
	}
	Lost = &Family{
		Name: "trainingjob_lost_seconds_total", Kind: Counter, Group: GroupEvents, Unit: "seconds",
		Help: "Seconds in which jobs did not train since the process began, by framework, cause (queue, nodes, starting, detection, restart, " +
			"redone, as in status.lostSeconds), and phase: during the start or during a restart. The operator adds a wait when it next writes " +
			"the status.",
		Labels: []string{"framework", "cause", "during"},
	}
	Startup = &Family{
		Name: "trainingjob_startup_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time from a job's first start until all its replicas ran for the first time.",
		Labels: []string{"framework"}, Buckets: seconds,
	}
	QueueWait = &Family{
		Name: "trainingjob_queue_wait_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time that a job waited in its queue until its admission, once for each admission.",
		Labels: []string{"framework"}, Buckets: seconds,
	}
	GangWait = &Family{
		Name: "trainingjob_gang_wait_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help: "Time from the start or resumption of a job until every replica's pod had a node, in its first attempt after that, by " +
			"spec.scheduling.gang (Default: the operator's --gang).",
		Labels: []string{"gang"}, Buckets: seconds,
	}
	RecoveryTime = &Family{
		Name: "trainingjob_recovery_seconds", Kind: Histogram, Group: GroupEvents, Unit: "seconds",
		Help:   "Time from a failure until the restarted replicas run again, by cause and scope: all replicas of the job, of the role, or one.",
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
		Help:   "Time from a failure to the decision about it, by node_lost: true if the failure is a lost node, which Kubernetes reports late.",
		Labels: []string{"node_lost"}, Buckets: seconds,
	}
	RatioAtEnd = &Family{
		Name: "trainingjob_running_time_ratio", Kind: Histogram, Group: GroupEvents, Unit: "ratio",
		Help:   "The share of the time since its first start in which a finished job ran, by framework and result.",
		Labels: []string{"framework", "result"}, Buckets: []float64{0.1, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999, 1},
	}
)

// The present state, read from the cache at each scrape. Only the leader exports it.
var (
	Leads = &Family{
		Name: "trainingjob_operator_info", Kind: Gauge, Group: GroupFleet, Unit: "1",
		Help:   "1 for the leading replica of the operator, with its version. Other replicas export no family from the cache.",
		Labels: []string{"version"},
	}
	Jobs = &Family{
		Name: "trainingjob_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Jobs by framework and phase. The phase is empty until the operator reconciles the job.",
		Labels: []string{"framework", "phase"},
	}
	Replicas = &Family{
		Name: "trainingjob_replicas", Kind: Gauge, Group: GroupFleet, Unit: "replicas",
		Help:   "Replicas of active jobs (Created, Pending, Running or Restarting), by framework.",
		Labels: []string{"framework"},
	}
	ReadyReplicas = &Family{
		Name: "trainingjob_ready_replicas", Kind: Gauge, Group: GroupFleet, Unit: "replicas",
		Help:   "Replicas of active jobs whose pod is ready, by framework.",
		Labels: []string{"framework"},
	}
	Waiting = &Family{
		Name: "trainingjob_waiting_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help: "Active jobs that do not run, by framework and reason: a reason of the API, a few of the kubelet (ImagePullBackOff, " +
			"ErrImagePull, CrashLoopBackOff, CreateContainerConfigError), or Other.",
		Labels: []string{"framework", "reason"},
	}
	Stalled = &Family{
		Name: "trainingjob_stalled_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Unfinished jobs that need a person to continue (condition Stalled), by reason.",
		Labels: []string{"reason"},
	}
	NotProgressing = &Family{
		Name: "trainingjob_hanging_jobs", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Running jobs that have not reported progress in time (condition Progressing is False with ProgressStalled), by framework.",
		Labels: []string{"framework"},
	}
	OldestProgress = &Family{
		Name: "trainingjob_oldest_progress_seconds", Kind: Gauge, Group: GroupFleet, Unit: "seconds",
		Help: "The longest time since a running job reported progress, by its status: a report without a newer step shows there " +
			"within 5 minutes.",
		Labels: []string{"framework"},
	}
	WaitingReconciles = &Family{
		Name: "trainingjob_waiting_reconciles", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help: "Jobs that wait for a reconcile because their namespace uses its share of the workers.",
	}
	WaitingWrites = &Family{
		Name: "trainingjob_waiting_writes", Kind: Gauge, Group: GroupFleet, Unit: "writes",
		Help: "Writes of pods and other children that wait because all writers, or their namespace's share of them, are busy.",
	}
	WithoutBudget = &Family{
		Name: "trainingjob_jobs_without_budget", Kind: Gauge, Group: GroupFleet, Unit: "jobs",
		Help:   "Unfinished jobs that have used up a budget: one more such failure fails the job (or gives up a replica that the job does not need), by budget.",
		Labels: []string{"budget"},
	}
	AvoidedNodes = &Family{
		Name: "trainingjob_avoided_nodes", Kind: Gauge, Group: GroupFleet, Unit: "namespaces",
		Help:   "Namespaces whose jobs avoid a node, by node and kind: fault if the node itself failed, crash if the job's own pods failed on it.",
		Labels: []string{"kind", "node"},
	}
	BrokenNodes = &Family{
		Name: "trainingjob_broken_nodes", Kind: Gauge, Group: GroupFleet, Unit: "nodes",
		Help: "1 for each avoided node whose own status shows a fault, by reason: NodeLost, NodeTainted (out of service), NodeUnhealthy " +
			"(a condition of --node-signals), DeviceUnhealthy (it offers fewer devices than it has). Pods cannot cause it.",
		Labels: []string{"node", "reason"},
	}
)

// What pkg/operator/intake exports. It has the same words, which a test compares: the adapter of Kueue needs it without this package.
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

// The present state of each job, from the cache: only with --job-metrics.
var (
	JobInfo            = ofJob("info", Gauge, "1", "1 for each job, with its framework, queue and UID.", "framework", "queue", "uid")
	JobPhase           = ofJob("phase", Gauge, "1", "1 for the present phase of the job.", "phase")
	JobReplicas        = ofJob("replicas", Gauge, "replicas", "Replicas that the job should have.")
	JobReadyReplicas   = ofJob("ready_replicas", Gauge, "replicas", "Replicas whose pod is ready.")
	JobAttempt         = ofJob("attempt", Gauge, "1", "The number of the job's attempt, from 0.")
	JobRestarts        = ofJob("restarts_total", Counter, "restarts", "Restarts of the job in its whole life, from its status.")
	JobChargedRestarts = ofJob("charged_restarts", Gauge, "restarts", "Restarts charged to a budget, less refunds.")
	JobRunning         = ofJob("running_seconds_total", Counter, "seconds", "Time that all replicas of the job ran, with the present run.")
	JobLost            = ofJob("lost_seconds_total", Counter, "seconds", "Seconds in which the job did not train, by cause, from status.lostSeconds.", "cause")
	JobRatio           = ofJob("running_time_ratio", Gauge, "ratio", "The share of the time since its first start in which the job ran.")
	JobStep            = ofJob("progress_step", Gauge, "steps", "The highest step that the training has reported.")
	JobProgressAge     = ofJob("progress_age_seconds", Gauge, "seconds", "Time since the running job reported progress, from its status: up to 5 minutes too old.")
	JobCheckpointAge   = ofJob("checkpoint_age_seconds", Gauge, "seconds", "Time since the running job reported a new checkpoint: a stop now would lose this time.")
	JobBudgetLeft      = ofJob("budget_left", Gauge, "restarts", "Remaining restarts of each charged budget within its window.", "budget")
)

// ofJob returns a family with the job's namespace and name and the given labels. Prometheus uses the label "job" for the scraped target.
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
