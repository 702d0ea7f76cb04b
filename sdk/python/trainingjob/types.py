"""What the API server takes and gives, as types: generated from the CRD by make generate. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict


class ObjectMetaRequired(TypedDict):
    """What every ObjectMeta has."""

    name: str


class ObjectMeta(ObjectMetaRequired, total=False):
    """Of every object of Kubernetes."""

    generateName: str
    namespace: str
    labels: Dict[str, str]
    annotations: Dict[str, str]
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
    ownerReferences: List[Dict[str, Any]]
    finalizers: List[str]
    managedFields: List[Dict[str, Any]]


class Rendezvous(TypedDict, total=False):
    """rendezvous says where the workers of a PyTorch job meet. Default: the leader holds a c10d store."""

    backend: Literal["c10d", "etcd", "etcd-v2"]
    """backend is torchrun's rendezvous backend: c10d, etcd or etcd-v2. Default c10d."""

    conf: List[str]
    """conf are further key=value settings of the backend: "timeout=900"."""

    endpoint: str
    """endpoint is host:port of a store outside the job. Default, c10d only: the job's leader; then a worker is
    replaced alone unless it is the leader. With an endpoint every worker is."""


class ElasticRequired(TypedDict):
    """What every Elastic has."""

    maxReplicas: int
    """maxReplicas is the largest number of workers that the job may be scaled to."""

    minReplicas: int
    """minReplicas is the number of workers with which the job can run: Running is True from there on."""


class Elastic(ElasticRequired, total=False):
    """elastic lets the number of workers change while the job runs, within bounds. Default: fixed. May change only
    while suspended."""

    growAfterSeconds: int
    """growAfterSeconds is how long workers are parked before they are tried again. Default 600."""

    rendezvous: Rendezvous
    """rendezvous says where the workers of a PyTorch job meet. Default: the leader holds a c10d store."""

    shrinkAfterSeconds: int
    """shrinkAfterSeconds is how long a worker may fit nowhere before it is parked, as long as minReplicas remain. A
    pod whose status.nominatedNodeName names a node that is to come has growAfterSeconds more. If your autoscaler
    does not write that, and scales from zero, write more than a node takes to come. Default 300."""


class MPI(TypedDict, total=False):
    """mpi says how the launcher of an MPI job reaches the workers. May change only while suspended."""

    launchAgent: Literal["SSH", "None"]
    """launchAgent is how mpirun starts ranks on the workers. SSH: with a key that the operator makes for the job,
    and sshd in each worker; a worker whose template has no command runs it. None: the images have a way of their
    own, and only the list of hosts is the operator's. Default SSH."""

    slotsPerWorker: int
    """slotsPerWorker is how many ranks mpirun starts on each worker, unless its command line says otherwise.
    Default: as many as the worker has GPUs or other accelerators, else 1."""


class Network(TypedDict, total=False):
    """network says which pods have names in DNS. May change only while suspended."""

    dnsNames: Literal["All", "Leader"]
    """dnsNames says which pods can be found in DNS, as <job>-<role>-<index>.<job>.<namespace>.svc. All: every
    replica. Leader: the chief, master or launcher, else worker 0; the names of the others are written nowhere,
    which makes a large job start and restart faster and spares the cluster's DNS. Default: Leader for JAX and for
    PyTorch that is not elastic, whose ranks look only for their leader and tell each other their addresses there;
    All for the rest."""


class Progress(TypedDict, total=False):
    """progress makes the job report how far it is, so that a hang is noticed. Default: it does not. May change at
    any time; a pod that was made before progress was added knows no Lease and does not hang."""

    action: Literal["Notify", "Restart"]
    """action on a stall. Notify: condition Progressing=False and an Event. Restart: also restart the whole job, as
    an incident of cause Hang. Default Notify."""

    checkpointGraceSeconds: int
    """checkpointGraceSeconds is how long the ranks of a running job have to save a checkpoint before the operator
    stops them for a suspension, a preemption, a drain, a requested restart or a smaller number of workers. The
    ranks find the request in the file TRAININGJOB_STOP_FILE and answer it in the Lease, by the annotation
    trainingjob.dev/saved-for. The operator stops them at once after the answer, and without an answer after this
    time. Its flag --max-checkpoint-wait bounds the time. Default 0: the operator requests no checkpoint. May change
    at any time; the operator requests none while a rank runs whose pod was made without it."""

    stallAfterSeconds: int
    """stallAfterSeconds is how long a running job may leave its Lease without renewal. It counts from the moment
    all replicas run, so leave time for loading and compiling. Default 600."""


class Rule(TypedDict, total=False):
    """RecoveryRule says what a failure that it matches is. Every matcher that is set must match; within one, any of
    its values."""

    cause: Literal["Infrastructure", "Preempted", "OOM", "Retryable", "Fatal", "Hang", "Startup"]
    """cause of the failure: it decides which budget is charged. Fatal fails the job at once, whichever replica
    failed. Default: the cause by Kubernetes' facts. A failure that is Infrastructure or Preempted only because a
    rule says so is not charged to maxRestarts. At most 100 of them within windowSeconds are restarted (budget
    ruleMadeLosses); one more fails the job."""

    conditions: List[str]
    """conditions are types of pod conditions that are True on the failed pod: DisruptionTarget, or one of your own."""

    containerName: str
    """containerName is the container that must have ended. Without it a rule is for the main container: the one
    that the annotation kubectl.kubernetes.io/default-container of the template names, else the first. What other
    containers end with breaks a replica only if a rule names them."""

    exitCodes: List[int]
    """exitCodes of the container, 1 to 255."""

    name: str
    """name of the rule in messages. Default: its place in the list."""

    reasons: List[str]
    """reasons as status.lastFailure shows them: OOMKilled, Evicted, NodeLost, ..."""

    roles: List[str]
    """roles that the rule is for. Default: all."""

    scope: Literal["Replica", "Role", "Job"]
    """scope of the restart. Default: restartScope of the role."""

    signals: List[int]
    """signals that ended it, 1 to 64: 9 is the exit code 137."""


class Recovery(TypedDict, total=False):
    """recovery sets what is restarted, how often and how fast. May change at any time and counts for what happens
    from then on; restartMethod counts from the next attempt."""

    avoidNodesSeconds: int
    """avoidNodesSeconds is how long new pods of the job prefer other nodes than one that caused an incident: at
    once if the node itself broke, else after two exits on it. 0 avoids none. Default 86400, one day."""

    backoffSeconds: int
    """backoffSeconds is the wait before the second restart in a row, at least 1 second. It doubles with each
    further one, up to maxBackoffSeconds. The first restart after 10 calm minutes begins at once. A replica that is
    restarted alone has a back-off of its own, and so have the replicas of a role that is, and the whole job.
    Default 5."""

    forceAfterSeconds: int
    """forceAfterSeconds is how long after its grace period a pod that was told to end may go on, on a node that is
    well, before its object is deleted by force, so that the job goes on without it. Its processes may then still
    run beside the next ones and write what they write: only for jobs whose checkpoints take no harm. A pod with a
    claim is never deleted so. Default: never."""

    incidentWindowSeconds: int
    """incidentWindowSeconds is how much later than a failure its true cause may show: a node that turns out to be
    lost within that time takes the incident over, and what was charged is given back. Default 60."""

    maxBackoffSeconds: int
    """maxBackoffSeconds is the longest wait before a restart; 0 is taken for 1. Default 300."""

    maxHangRestarts: int
    """maxHangRestarts is the same for restarts because of stalled progress. Default 5."""

    maxOOMRestarts: int
    """maxOOMRestarts is the same for containers that ran out of memory: they rarely need less of it the next time.
    Default 3."""

    maxRestarts: int
    """maxRestarts is how many restarts within windowSeconds the job may cause by failing itself; one more failure
    fails the job. Pods that were lost (node, drain, eviction, preemption, deletion) are restarted without being
    charged. Default: 10, or one for every ten replicas that are restarted alone (scope Replica) if that is more: of
    a thousand workers ten times as many fail in a day as of a hundred."""

    noProgressLimit: int
    """noProgressLimit is how many charged restarts of the whole job, hangs included, may follow one another without
    a newer step in its progress Lease; one more fails the job, whatever its budgets. Only for jobs with
    spec.progress that have reported a step. Lost pods and replicas that are replaced alone do not count. 0 turns it
    off. Default 3."""

    restartMethod: Literal["Recreate", "InPlace"]
    """restartMethod is how a restart of the whole job restarts healthy replicas. InPlace starts the main container
    again in its pod, which keeps its node, devices and volumes. A replica whose pod cannot restart gets a new pod.
    Recreate deletes all pods and creates new ones. Default: InPlace for PyTorch jobs that are not elastic, JAX and
    XGBoost, if every template's terminationGracePeriodSeconds is at most terminationGraceSeconds, because a program
    that ignores SIGTERM delays the restart for that long. Otherwise Recreate, and also if the leader's template
    declares or probes the port at which the ranks meet. May change at any time and counts from the next attempt or
    resumption."""

    rules: List[Rule]
    """rules say otherwise than the defaults for failures that they match; the first match wins. Default: none."""

    terminationGraceSeconds: int
    """terminationGraceSeconds is how long a pod that a restart ends has from SIGTERM to SIGKILL, if its template
    does not say less. Its ranks are cut off from those that broke, so little is left to do; programs that save what
    they have on SIGTERM may need more. Suspension, scaling and clean-up leave the template's own time. Default 5.
    May change at any time; what follows from it for restartMethod counts from the next attempt or resumption."""

    windowSeconds: int
    """windowSeconds is how long a charged restart counts against its budget. Default 86400, one day."""


class SparesRequired(TypedDict):
    """What every Spares has."""

    count: int
    """count is the number of placeholder pods, 0 to 100."""


class Spares(SparesRequired, total=False):
    """spares hold nodes ready for this role. Default: none. May change at any time."""

    command: List[str]
    """command is what the containers of a placeholder run instead of the training; it should do nothing, for ever.
    Default: sleep infinity."""

    priorityClassName: str
    """priorityClassName of the placeholders; it should be low. Default: the operator's --spare-priority-class."""


class ReplicaSpecRequired(TypedDict):
    """What every ReplicaSpec has."""

    template: Dict[str, Any]
    """template is the pod that runs; the operator adds host name, subdomain, labels, environment variables that the
    template does not set itself, and restartPolicy Never (restarts are the operator's). May change only while
    suspended."""


class ReplicaSpec(ReplicaSpecRequired, total=False):
    """ReplicaSpec is one role of a job."""

    replicas: int
    """replicas is the number of pods of this role, 0 to 10000. Default 1. It can be scaled while the job runs only
    for the Worker role of an elastic job."""

    restartPolicy: Literal["Never", "OnFailure", "Always", "ExitCode"]
    """restartPolicy decides which exits are restarted. OnFailure: every exit code but 0 and the permanent ones.
    Always: exit code 0 too, that replica alone and not charged, unless the job waits for its success or it is a
    rank of a collective. ExitCode: signals, which are the exit codes 129 to 192 without 139; all others fail the
    job. Never: none. Under every policy 93, 126 and 127 are permanent and fail the job: the program asks for no
    further attempt by 93, and a command that cannot run exits with 126 or 127. Under every policy a pod that was
    lost and not at fault (drained, evicted, deleted) is restarted. A rule of recovery.rules may decide otherwise.
    Default OnFailure. May change at any time and counts for exits from then on."""

    restartScope: Literal["Replica", "Role", "Job"]
    """restartScope says what is restarted when a replica of this role breaks: Replica (only it), Role (all of its
    role) or Job (the whole job). Default by framework and role; the scope in force is in status.replicaStatuses.
    May change at any time and counts for failures from then on."""

    spares: Spares
    """spares hold nodes ready for this role. Default: none. May change at any time."""


class RunPolicy(TypedDict, total=False):
    """runPolicy sets the deadlines and what is cleaned up afterwards. May change at any time and counts at once:
    its times count from the same moments as before."""

    activeDeadlineSeconds: int
    """activeDeadlineSeconds fails the job so many seconds after its first start; suspended time does not count. At
    most 10 years. Default: none."""

    cleanPodPolicy: Literal["None", "Running", "All"]
    """cleanPodPolicy says which pods are deleted when the job has finished, with success or failure: Running (those
    that still run; finished ones keep their logs), All or None. Default Running."""

    finishGraceSeconds: int
    """finishGraceSeconds is how long the replicas that still run when the job succeeds may go on, to end by
    themselves: ranks may still write their part of the last checkpoint, an evaluator may still look at it.
    Parameter servers end with the last of them. Workers of MPI that run the operator's sshd, and spares, have no
    such time. Default 30."""

    startupDeadlineSeconds: int
    """startupDeadlineSeconds is how long an attempt may take until all its replicas run, from the moment its first
    pod is created, so not while a quota admits none; then it counts as a failure of cause Startup and the job is
    restarted. At most 10 years. Default: none."""

    ttlSecondsAfterFinished: int
    """ttlSecondsAfterFinished deletes the job with all its pods so many seconds after it finished, at most 10
    years. Default: never."""


class TopologyRequired(TypedDict):
    """What every Topology has."""

    key: str
    """key is the node label whose value names the domain: topology.kubernetes.io/rack."""


class Topology(TopologyRequired, total=False):
    """topology keeps the pods near each other. Default: anywhere."""

    mode: Literal["Preferred", "Required"]
    """mode Required leaves the job pending while no domain has room for all of it, and needs a gang; Preferred
    takes what there is. Default Preferred."""

    roles: List[str]
    """roles are those whose pods are kept near each other; the pods of others may be anywhere. Default: all but
    Evaluator and Launcher, or all if the job has no others."""

    tier: int
    """tier is the highest tier of Volcano's HyperNodes that the job may cross; Volcano then ignores key. Default:
    by key."""


class Scheduling(TypedDict, total=False):
    """scheduling says how the job's pods get their nodes: all or nothing, in which queue, how near to each other.
    Default: each pod by itself, unless the operator's --gang says otherwise. May change only while suspended."""

    gang: Literal["None", "Native", "Volcano", "Coscheduling"]
    """gang says who schedules the pods all at once or not at all: Native (Kubernetes' own PodGroup), Volcano,
    Coscheduling (the scheduler plug-in), or None. Default: the operator's --gang, which is None unless it says
    otherwise."""

    minAvailable: int
    """minAvailable is the number of pods that must fit at once. Evaluators and a Custom job's own roles are not
    counted: they join no gang. Default: all other replicas; of an elastic job's workers minReplicas."""

    priorityClassName: str
    """priorityClassName of the gang, and of pods whose template names none. Default: none."""

    queue: str
    """queue of the gang's scheduler that the job waits in; only Volcano has queues. Kueue's is the label
    kueue.x-k8s.io/queue-name. Default: the scheduler's own."""

    schedulerName: str
    """schedulerName of pods whose template names none. Default: volcano for Volcano, scheduler-plugins-scheduler
    for Coscheduling, else Kubernetes' own."""

    timeoutSeconds: int
    """timeoutSeconds is how long an attempt that does not run yet may wait until every pod (elastic: minReplicas
    workers) has a node, from the moment its first pod is created, so not while a quota admits none; then the job
    fails. At most 10 years. Default: for ever."""

    topology: Topology
    """topology keeps the pods near each other. Default: anywhere."""


class TrainingJobSpecRequired(TypedDict):
    """What every TrainingJobSpec has."""

    framework: Literal["TensorFlow", "PyTorch", "JAX", "MPI", "XGBoost", "LightGBM", "Paddle", "Custom"]
    """framework says which environment the replicas get to find each other: TensorFlow (TF_CONFIG), PyTorch
    (MASTER_ADDR, RANK, PET_*), JAX (JAX_COORDINATOR_ADDRESS, ...), MPI (a host file, and SSH to the workers),
    XGBoost (DMLC_*, MASTER_ADDR, RANK), LightGBM (LIGHTGBM_MACHINES, MASTER_ADDR, RANK), Paddle (PADDLE_*) or
    Custom (TRAININGJOB_* only). It also decides the default restart scopes. Immutable."""

    replicaSpecs: Dict[str, ReplicaSpec]
    """replicaSpecs says by role (Chief, Master, Launcher, PS, Worker, Evaluator) how many pods of which template
    the job has. A Custom job may have roles of its own beside these: a name in lower case, such as actor, learner
    or loader; 16 roles at most."""


class TrainingJobSpec(TrainingJobSpecRequired, total=False):
    """spec is what the user wants."""

    elastic: Elastic
    """elastic lets the number of workers change while the job runs, within bounds. Default: fixed. May change only
    while suspended."""

    managedBy: str
    """managedBy names the controller that runs this job; the operator leaves one that is another's alone. Default:
    trainingjob.dev/operator, this operator. Immutable."""

    mpi: MPI
    """mpi says how the launcher of an MPI job reaches the workers. May change only while suspended."""

    network: Network
    """network says which pods have names in DNS. May change only while suspended."""

    progress: Progress
    """progress makes the job report how far it is, so that a hang is noticed. Default: it does not. May change at
    any time; a pod that was made before progress was added knows no Lease and does not hang."""

    recovery: Recovery
    """recovery sets what is restarted, how often and how fast. May change at any time and counts for what happens
    from then on; restartMethod counts from the next attempt."""

    runPolicy: RunPolicy
    """runPolicy sets the deadlines and what is cleaned up afterwards. May change at any time and counts at once:
    its times count from the same moments as before."""

    scheduling: Scheduling
    """scheduling says how the job's pods get their nodes: all or nothing, in which queue, how near to each other.
    Default: each pod by itself, unless the operator's --gang says otherwise. May change only while suspended."""

    successPolicy: Literal["Leader", "AllWorkers"]
    """successPolicy says whose exit code 0 ends the job with success. Leader: the chief, master or launcher, else
    worker 0. AllWorkers: every leader and worker. Default Leader. May change at any time and counts at once."""

    suspend: bool
    """suspend true deletes the pods and keeps everything that was counted; false starts them again. Queues such as
    Kueue write it. Default false. May change at any time."""


class AvoidedNodeRequired(TypedDict):
    """What every AvoidedNode has."""

    expirationTime: str
    """expirationTime is when the job stops avoiding the node."""

    failures: int
    """failures is the number of incidents that began on the node."""

    name: str
    """name of the node."""


class AvoidedNode(AvoidedNodeRequired, total=False):
    """AvoidedNode is a node that the job avoids: new pods prefer other nodes."""

    reason: str
    """reason of the latest of them."""


class BudgetRequired(TypedDict):
    """What every Budget has."""

    limit: int
    """limit is the number of restarts that may be charged within the window."""

    name: str
    """name is the field of spec.recovery that sets the limit, or ruleMadeLosses, or evaluatorRestarts."""

    used: int
    """used is the number of restarts charged within the window, as of the latest one."""


class Budget(BudgetRequired, total=False):
    """Budget is how much of a budget is used up."""


class CheckpointRequestRequired(TypedDict):
    """What every CheckpointRequest has."""

    deadlineTime: str
    """deadlineTime is when they are stopped without an answer."""

    id: str
    """id is what the answer in the progress Lease repeats: "<attempt>-<Unix time>"."""

    reason: str
    """reason why they are to be stopped: SuspendedBySpec, AwaitingAdmission, RestartRequested, ScaledIn, or why
    their pods are ended."""

    time: str
    """time of the request."""


class CheckpointRequest(CheckpointRequestRequired, total=False):
    """checkpointRequest asks the ranks to save a checkpoint before the operator stops them. It is absent otherwise."""


class ConditionRequired(TypedDict):
    """What every Condition has."""

    lastTransitionTime: str
    """lastTransitionTime is the last time the condition transitioned from one status to another. This should be
    when the underlying condition changed. If that is not known, then using the time when the API field changed is
    acceptable."""

    message: str
    """message is a human readable message indicating details about the transition. This may be an empty string."""

    reason: str
    """reason contains a programmatic identifier indicating the reason for the condition's last transition.
    Producers of specific condition types may define expected values and meanings for this field, and whether the
    values are considered a guaranteed API. The value should be a CamelCase string. This field may not be empty."""

    status: Literal["True", "False", "Unknown"]
    """status of the condition, one of True, False, Unknown."""

    type: str
    """type of condition in CamelCase or in foo.example.com/CamelCase."""


class Condition(ConditionRequired, total=False):
    """Condition contains details for one aspect of the current state of this API Resource."""

    observedGeneration: int
    """observedGeneration represents the .metadata.generation that the condition was set based upon. For instance,
    if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is
    out of date with respect to the current state of the instance."""


class IncidentRequired(TypedDict):
    """What every Incident has."""

    attempt: int
    """attempt in which it broke."""

    cause: str
    """cause says what kind of failure it is; it decides whether the failure is restarted, and charged to which
    budget."""

    index: int
    """index of the replica that broke."""

    restartTime: str
    """restartTime is when the restart was decided."""

    role: str
    """role of the replica that broke."""

    scope: str
    """scope of the restart."""

    time: str
    """time at which it broke."""


class Incident(IncidentRequired, total=False):
    """Incident is one restart: the failure that it began with, and what was done about it."""

    alike: int
    """alike is how many other replicas broke in the same second and in the same way, and whose last words do not
    tell them apart either: which of them was first cannot be known, as Kubernetes gives whole seconds. Evidence
    that shows later may change it."""

    charged: bool
    """charged is whether the restart is charged to a budget."""

    container: str
    """container that failed, if it is not the main one: an init container, or a side-car that a rule names."""

    exitCode: int
    """exitCode of that container; absent if none ended. Above 128 a signal ended it: 137 is signal 9."""

    explained: bool
    """explained is whether the cause showed only after the restart and replaced the first impression."""

    followers: int
    """followers is the number of other replicas that were restarted with it."""

    message: str
    """message is the end of the container's termination message."""

    node: str
    """node that the pod was on."""

    pod: str
    """pod that broke; it is kept for its log until the next restart, unless a side-car of its still ran or evidence
    named it late. So are the pods of other ranks that ended with the same code within two seconds."""

    reason: str
    """reason in the words of Kubernetes: Error, OOMKilled, Evicted, NodeLost, ..."""


class FailureRequired(TypedDict):
    """What every Failure has."""

    attempt: int
    """attempt in which it broke."""

    cause: str
    """cause says what kind of failure it is; it decides whether the failure is restarted, and charged to which
    budget."""

    index: int
    """index of the replica that broke."""

    role: str
    """role of the replica that broke."""

    time: str
    """time at which it broke."""


class Failure(FailureRequired, total=False):
    """lastFailure is the failure behind the latest restart or the job's end: the earliest of those that came
    together. A restart that was asked for, and an exit with code 0 under restartPolicy Always, are no failures and
    leave it as it is."""

    alike: int
    """alike is how many other replicas broke in the same second and in the same way, and whose last words do not
    tell them apart either: which of them was first cannot be known, as Kubernetes gives whole seconds. Evidence
    that shows later may change it."""

    container: str
    """container that failed, if it is not the main one: an init container, or a side-car that a rule names."""

    exitCode: int
    """exitCode of that container; absent if none ended. Above 128 a signal ended it: 137 is signal 9."""

    message: str
    """message is the end of the container's termination message."""

    node: str
    """node that the pod was on."""

    pod: str
    """pod that broke; it is kept for its log until the next restart, unless a side-car of its still ran or evidence
    named it late. So are the pods of other ranks that ended with the same code within two seconds."""

    reason: str
    """reason in the words of Kubernetes: Error, OOMKilled, Evicted, NodeLost, ..."""


class LostSeconds(TypedDict, total=False):
    """lostSeconds say where the rest of the time went, as of the latest change of this status."""

    detection: int
    """detection is how long it took, from failures to the decision, to restart the whole job or to fail it."""

    nodes: int
    """nodes is how long pods waited for nodes."""

    queue: int
    """queue is how long a queue kept the job suspended. This time is not part of the time since the first start."""

    redone: int
    """redone is how long the job ran after whole-job restarts until it reported a step as high as before; it is
    part of the time that the job ran. It is counted for jobs that report steps."""

    restart: int
    """restart is how long pods were stopped and waits before restarts took, until the next pods could be created."""

    starting: int
    """starting is how long pods that had nodes were starting: images, init containers, the slowest of all."""


class ProgressStatusRequired(TypedDict):
    """What every ProgressStatus has."""

    step: int
    """step is the highest step reported."""


class ProgressStatus(ProgressStatusRequired, total=False):
    """progress is what the job's Lease said last."""

    checkpoint: str
    """checkpoint is the latest checkpoint reported."""

    checkpointTime: str
    """checkpointTime is when that checkpoint was first reported: what was trained since is lost when the job is
    stopped."""

    renewTime: str
    """renewTime is when the Lease was last renewed. A renewal without a newer step or checkpoint shows within 5
    minutes; the Lease itself says it at once."""


class ReplicaStatus(TypedDict, total=False):
    """ReplicaStatus is how the replicas of one role are."""

    active: int
    """active is the number of pods that exist and have not finished, terminating ones included."""

    failed: int
    """failed is the number of replicas whose present pod has failed."""

    parked: int
    """parked is the number of workers of an elastic job that are parked for lack of room."""

    ready: int
    """ready is the number of pods that are ready."""

    restartScope: str
    """restartScope is the scope in force for this role."""

    restarts: int
    """restarts is the number of restarts that replicas of this role caused."""

    selector: str
    """selector selects the pods of this role; the scale subresource shows it."""

    spares: int
    """spares is the number of placeholder pods that hold a node."""

    succeeded: int
    """succeeded is the number of replicas that finished with success."""


class TrainingJobStatus(TypedDict, total=False):
    """status is what the operator saw and decided. Only the operator writes it."""

    attempt: int
    """attempt is the number of whole-job restarts so far: 0 in the job's first life."""

    avoidedNodes: List[AvoidedNode]
    """avoidedNodes are the nodes to which new pods of the job prefer all others, sorted by name. The scheduler may
    still choose one."""

    budgets: List[Budget]
    """budgets say how much of each budget is used up; one that was never charged is left out."""

    chargedRestarts: int
    """chargedRestarts is how many of the restarts are charged to a budget of spec.recovery."""

    checkpointRequest: CheckpointRequest
    """checkpointRequest asks the ranks to save a checkpoint before the operator stops them. It is absent otherwise."""

    completionTime: str
    """completionTime is when the job succeeded or failed."""

    conditions: List[Condition]
    """conditions say what is true of the job; their types and reasons are listed in the API reference."""

    incidents: List[Incident]
    """incidents are the last 10 restarts, newest first."""

    lastFailure: Failure
    """lastFailure is the failure behind the latest restart or the job's end: the earliest of those that came
    together. A restart that was asked for, and an exit with code 0 under restartPolicy Always, are no failures and
    leave it as it is."""

    lostSeconds: LostSeconds
    """lostSeconds say where the rest of the time went, as of the latest change of this status."""

    memory: Dict[str, Any]
    """memory is what the operator must remember to go on. Only the operator reads and writes it: its form may
    change with any version."""

    message: str
    """message says in one sentence why the job is in this phase."""

    nextStartTime: str
    """nextStartTime is the time before which no pod is created, because of the back-off after a whole-job restart.
    That of single replicas is in memory.roles.nextStarts."""

    observedGeneration: int
    """observedGeneration is the metadata.generation that this status speaks of."""

    phase: str
    """phase sums the conditions up in one word."""

    progress: ProgressStatus
    """progress is what the job's Lease said last."""

    ready: str
    """ready is readyReplicas of replicas, for the column READY: "7/8". It is "-" while the job is suspended and
    once it has finished."""

    readyReplicas: int
    """readyReplicas is the number of replicas whose pod is ready."""

    reason: str
    """reason says in one word why the job is in this phase."""

    replicaStatuses: Dict[str, ReplicaStatus]
    """replicaStatuses says by role how its replicas are."""

    replicas: int
    """replicas is the number of replicas that the job should have, in all roles."""

    restarts: int
    """restarts is the number of restarts so far: each whole-job or whole-role restart and each replaced replica
    counts one."""

    runningSeconds: int
    """runningSeconds is how long the job ran, in all its attempts, without the present run."""

    runningTime: str
    """runningTime is when all replicas of the job first ran."""

    startTime: str
    """startTime is when the job first started."""

    suspendedSeconds: int
    """suspendedSeconds is how long the job was suspended after its first start, without the present suspension."""


class TrainingJobRequired(TypedDict):
    """What every TrainingJob has."""

    apiVersion: Literal["trainingjob.dev/v1alpha1"]
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert
    recognized schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"""

    kind: Literal["TrainingJob"]
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"""

    metadata: ObjectMeta

    spec: TrainingJobSpec
    """spec is what the user wants."""


class TrainingJob(TrainingJobRequired, total=False):
    """TrainingJob is a distributed training run: replicas by role that find each other, and what to do when one
    breaks."""

    status: TrainingJobStatus
    """status is what the operator saw and decided. Only the operator writes it."""
