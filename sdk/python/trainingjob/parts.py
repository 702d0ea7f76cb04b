"""Parts of a TrainingJob's spec: each function returns the one of its name, as a plain dict. What is not given has the API's default."""

from __future__ import annotations

from .checks import MAX_REPLICAS, given, listed, one_of, within

GANGS = ("None", "Native", "Volcano", "Coscheduling")
CAUSES = ("Infrastructure", "Preempted", "OOM", "Retryable", "Fatal", "Hang", "Startup")
SCOPES = ("Replica", "Role", "Job")


def elastic(min_replicas: int, max_replicas: int, *, rendezvous_backend: str | None = None,
            rendezvous_endpoint: str | None = None, rendezvous_conf: list | None = None) -> dict:
    """Returns the bounds between which workers may be scaled while the job runs, each 1 to 10000.

    rendezvous_backend, rendezvous_endpoint, rendezvous_conf: torchrun's: c10d (default), etcd or etcd-v2; host:port, default the
        job's leader; a list of "key=value", default none. PyTorch only.
    """
    one_of("rendezvous_backend", rendezvous_backend, ("c10d", "etcd", "etcd-v2"))
    within("min_replicas", min_replicas, 1, MAX_REPLICAS, required=True)
    within("max_replicas", max_replicas, min_replicas, MAX_REPLICAS, required=True)
    rendezvous = given(backend=rendezvous_backend, endpoint=rendezvous_endpoint, conf=listed(rendezvous_conf)) or None
    return given(minReplicas=min_replicas, maxReplicas=max_replicas, rendezvous=rendezvous)


def run_policy(*, clean_pod_policy: str | None = None, ttl_seconds_after_finished: int | None = None,
               active_deadline_seconds: int | None = None, startup_deadline_seconds: int | None = None,
               finish_grace_seconds: int | None = None) -> dict:
    """Returns deadlines, in seconds and none by default, and which pods are deleted at the end.

    clean_pod_policy: Running (default), All or None, as the string "None".
    finish_grace_seconds: how long ranks that still run when the job succeeds may go on. Default 30.
    """
    one_of("clean_pod_policy", clean_pod_policy, ("Running", "All", "None"))
    return given(cleanPodPolicy=clean_pod_policy, ttlSecondsAfterFinished=ttl_seconds_after_finished,
                 activeDeadlineSeconds=active_deadline_seconds, startupDeadlineSeconds=startup_deadline_seconds,
                 finishGraceSeconds=finish_grace_seconds)


def recovery(*, max_restarts: int | None = None, max_oom_restarts: int | None = None, max_hang_restarts: int | None = None,
             window_seconds: int | None = None, incident_window_seconds: int | None = None, no_progress_limit: int | None = None, same_crash_limit: int | None = None,
             avoid_nodes_seconds: int | None = None, backoff_seconds: int | None = None, max_backoff_seconds: int | None = None,
             restart_method: str | None = None, termination_grace_seconds: int | None = None, force_after_seconds: int | None = None,
             rules: list | None = None) -> dict:
    """Returns how often and when a job is restarted.

    max_restarts, max_oom_restarts, max_hang_restarts: within window_seconds. Default 10 (large jobs: more), 3 and 5 within 86400.
    incident_window_seconds: how much later a lost node may take an incident over, and what was charged be given back. Default 60.
    no_progress_limit: how many charged restarts of the job may follow one another without a newer step; 0 is no limit. Default 3.
    same_crash_limit: how many restarts may follow one another after the same crash of a replica; 0 is no limit. Default 3.
    avoid_nodes_seconds: how long new pods avoid a node that broke. Default 86400.
    backoff_seconds: wait before the second restart in a row, doubling up to max_backoff_seconds. Default 5 and 300.
    restartMethod: Recreate, or InPlace to keep the pods of the replicas that are well when the whole job restarts. Default InPlace for PyTorch,
      JAX and XGBoost whose pods have at most termination_grace_seconds to end, else Recreate.
    termination_grace_seconds: how long a pod that a restart ends has from SIGTERM to SIGKILL. Default 5.
    force_after_seconds: how long after its grace period a pod that does not end may go on. Default for ever.
    rules: a list of what rule() returns; the first that matches is followed. Default none.
    """
    return given(maxRestarts=max_restarts, maxOOMRestarts=max_oom_restarts, maxHangRestarts=max_hang_restarts,
                 windowSeconds=window_seconds, incidentWindowSeconds=incident_window_seconds,
                 noProgressLimit=no_progress_limit, sameCrashLimit=same_crash_limit, avoidNodesSeconds=avoid_nodes_seconds,
                 backoffSeconds=backoff_seconds, maxBackoffSeconds=max_backoff_seconds,
                 restartMethod=restart_method, terminationGraceSeconds=termination_grace_seconds, forceAfterSeconds=force_after_seconds,
                 rules=listed(rules))


def rule(*, name: str | None = None, roles: list | None = None, container_name: str | None = None, exit_codes: list | None = None, signals: list | None = None,
         reasons: list | None = None, conditions: list | None = None, cause: str | None = None,
         scope: str | None = None) -> dict:
    """Returns what to do about failures that match all that is given: roles, container, exit codes, signals, reasons, pod
    conditions.

    name: what messages call the rule.
    container_name: the container that must have ended. Default the main one: what a side-car ends with breaks no replica otherwise.
    cause: Infrastructure, Preempted, OOM, Retryable, Fatal, Hang or Startup. Fatal fails the job; then leave scope out.
    scope: Replica, Role or Job.

    Raises ValueError, which says what to write instead.
    """
    one_of("cause", cause, CAUSES)
    one_of("scope", scope, SCOPES)
    if cause is None and scope is None:
        raise ValueError("a rule must change something: write cause=, scope= or both")
    if cause == "Fatal" and scope is not None:
        raise ValueError("cause=\"Fatal\" fails the job and restarts nothing: leave scope= out")
    return given(name=name, roles=listed(roles), containerName=container_name, exitCodes=listed(exit_codes), signals=listed(signals), reasons=listed(reasons),
                 conditions=listed(conditions), cause=cause, scope=scope)


def scheduling(*, gang: str | None = None, min_available: int | None = None, queue: str | None = None,
               priority_class: str | None = None, scheduler_name: str | None = None, topology_key: str | None = None,
               topology_required: bool = False, topology_tier: int | None = None, topology_roles: list | None = None,
               timeout_seconds: int | None = None) -> dict:
    """Returns how the pods get their nodes: all or nothing, in which queue, how near to each other.

    gang: Native, Volcano, Coscheduling or None, as the string "None". Default the operator's.
    min_available: pods that must fit at once. Default all; of an elastic job's workers min_replicas.
    queue: Volcano's; Kueue's is job(queue=...). Default the scheduler's own.
    topology_key: node label whose value names a domain, such as a rack; topology_required: wait rather than spread, default
        False, needs gang=; topology_tier: of Volcano's HyperNodes; topology_roles: the roles that must be in one domain, default
        all but Evaluator and Launcher.
    timeout_seconds: fail rather than wait longer. Default for ever.

    Raises ValueError, which says what to write instead.
    """
    one_of("gang", gang, GANGS)
    within("min_available", min_available, 1, MAX_REPLICAS)
    within("timeout_seconds", timeout_seconds, 1, None)
    if topology_key is None and (topology_required or topology_tier is not None or topology_roles):
        raise ValueError('topology_key is missing: write topology_key="topology.kubernetes.io/rack"')
    if topology_required and gang in (None, "None"):
        raise ValueError('topology_required needs a gang: write gang="Native", or leave topology_required out')
    topology = given(key=topology_key, mode="Required" if topology_required else None, tier=topology_tier, roles=listed(topology_roles)) or None
    return given(gang=gang, minAvailable=min_available, queue=queue, priorityClassName=priority_class,
                 schedulerName=scheduler_name, topology=topology, timeoutSeconds=timeout_seconds)


def mpi(*, slots_per_worker: int | None = None, launch_agent: str | None = None) -> dict:
    """Returns how the launcher of an MPI job reaches the workers.

    slots_per_worker: ranks on each worker, 1 to 1024. Default the worker's GPUs, else 1.
    launch_agent: SSH (default) or None: the images start ranks in a way of their own, written "None".
    """
    one_of("launch_agent", launch_agent, ("SSH", "None"))
    within("slots_per_worker", slots_per_worker, 1, 1024)
    return given(slotsPerWorker=slots_per_worker, launchAgent=launch_agent)


def network(*, dns_names: str | None = None) -> dict:
    """Returns which pods have names in DNS.

    dns_names: All or Leader. Default Leader for JAX and for PyTorch that is not elastic, All for the rest.
    """
    one_of("dns_names", dns_names, ("All", "Leader"))
    return given(dnsNames=dns_names)


def progress(*, port: int | None = None, stall_after_seconds: int | None = None, action: str | None = None,
             checkpoint_grace_seconds: int | None = None) -> dict:
    """Returns how a job reports its progress, and what to do when it does not report for so long.

    port: of the page that report() serves, 1024 to 65535 and none of the framework's own. Default none: the operator detects no hang.
    stall_after_seconds: 10 to 86400. Default 600.
    action: Notify (default) or Restart.
    checkpoint_grace_seconds: how long ranks that are well have to save a checkpoint before they are stopped; see should_stop. 0 to 3600.
      Default 0: they are not asked.
    """
    one_of("action", action, ("Notify", "Restart"))
    within("port", port, 1024, 65535)
    within("stall_after_seconds", stall_after_seconds, 10, 86400)
    within("checkpoint_grace_seconds", checkpoint_grace_seconds, 0, 3600)
    return given(port=port, stallAfterSeconds=stall_after_seconds, action=action, checkpointGraceSeconds=checkpoint_grace_seconds)
