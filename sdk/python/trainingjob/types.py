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
    """rendezvous is where the workers of a PyTorch job meet. Default: the leader holds a c10d store."""

    backend: Literal["c10d", "etcd", "etcd-v2"]
    """backend is torchrun's rendezvous backend: c10d, etcd or etcd-v2. Default c10d."""

    conf: List[str]
    """conf are further key=value settings of the backend: "timeout=900"."""

    endpoint: str
    """endpoint is host:port of a store outside the job. Default, c10d only: the job's leader; then a worker
    restarts alone unless it is the leader. With an endpoint every worker restarts alone."""


class ElasticRequired(TypedDict):
    """What every Elastic has."""

    maxReplicas: int
    """maxReplicas is the largest number of workers of the job."""

    minReplicas: int
    """minReplicas is the number of workers with which the job can run: Running is True from there on."""


class Elastic(ElasticRequired, total=False):
    """elastic lets the number of workers change while the job runs, within bounds. Default: fixed. May change only
    while suspended."""

    rendezvous: Rendezvous
    """rendezvous is where the workers of a PyTorch job meet. Default: the leader holds a c10d store."""


class MPI(TypedDict, total=False):
    """mpi sets how the launcher of an MPI job reaches the workers. May change only while suspended."""

    launchAgent: Literal["SSH", "None"]
    """launchAgent is how mpirun starts ranks on the workers. SSH: with a key that the operator creates for the job,
    and sshd in each worker; a worker whose template has no command runs it. None: the images start ranks in another
    way, and the operator provides only the list of hosts. Default SSH."""

    slotsPerWorker: int
    """slotsPerWorker is the number of ranks that mpirun starts on each worker, unless its command line sets
    another. Default: the number of GPUs or other accelerators of the worker, or 1."""


class Network(TypedDict, total=False):
    """network selects the pods with names in DNS. May change only while suspended."""

    dnsNames: Literal["All", "Leader"]
    """dnsNames selects the pods that DNS resolves, as <job>-<role>-<index>.<job>.<namespace>.svc. All: every
    replica. Leader: only the chief, master or launcher, or worker 0. A large job then starts and restarts faster,
    and the cluster's DNS has less work. Default: Leader for JAX and for PyTorch that is not elastic, whose ranks
    look up only their leader and exchange their addresses there. All for other jobs."""


class Progress(TypedDict, total=False):
    """progress lets the job report its progress, so that the operator detects a hang. Default: no report. May
    change at any time. A pod from before cannot report and does not hang."""

    action: Literal["Notify", "Restart"]
    """action on a stall. Notify: condition Progressing=False and an Event. Restart: also restart the whole job, as
    an incident of cause Hang. Default Notify."""

    checkpointGraceSeconds: int
    """checkpointGraceSeconds is the time that the ranks of a running job have to save a checkpoint before the
    operator stops them for a suspension, a preemption, a drain, a requested restart or a smaller number of workers.
    The ranks read the request in the file TRAININGJOB_CHECKPOINT_REQUEST_FILE and answer it in their report, with
    savedFor. Without a page they cannot answer. The operator stops them after the answer, or after this time. Its
    flag --max-checkpoint-wait bounds the time. Default 0: the operator requests no checkpoint. May change at any
    time. The operator requests none while a rank runs whose pod is older than the setting."""

    port: int
    """port is the TCP port of the page of rank 0: http://<pod>:<port>/progress, which trainingjob.report() of the
    Python SDK serves. Every container gets it as TRAININGJOB_PROGRESS_PORT. With hostNetwork the main container of
    each such role names it in its ports, and the scheduler puts one such replica on a node. Default: no page."""

    stallAfterSeconds: int
    """stallAfterSeconds is the maximum time of a running job without a report. It counts from the moment all
    replicas run, so leave time for loading and compiling. A page counts from the first report of the process.
    Default 600."""


class Rule(TypedDict, total=False):
    """RecoveryRule sets the cause or the scope of the failures that it matches. All its matchers must match; within
    one, any of its values."""

    cause: Literal["Infrastructure", "Preempted", "OOM", "Retryable", "Fatal", "Hang", "Startup"]
    """cause of the failure, which selects the budget. Fatal fails the job at once, for a failure of any replica.
    Default: the cause by Kubernetes' facts. A failure that only a rule makes Infrastructure or Preempted is not
    charged to maxRestarts. At most 100 of them within windowSeconds restart (budget ruleMadeLosses); one more fails
    the job."""

    conditions: List[str]
    """conditions are types of pod conditions that are True on the failed pod: DisruptionTarget, or one of your own."""

    containerName: str
    """containerName is the container that must have ended. Without it a rule applies to the main container: the
    container that the annotation kubectl.kubernetes.io/default-container of the template names, or the first. An
    exit of another container fails a replica only if a rule names the container."""

    exitCodes: List[int]
    """exitCodes of the container, 1 to 255."""

    name: str
    """name of the rule in messages. Default: its place in the list."""

    reasons: List[str]
    """reasons as status.lastFailure shows them: OOMKilled, Evicted, NodeLost, ..."""

    roles: List[str]
    """roles of the rule. Default: all."""

    scope: Literal["Replica", "Role", "Job"]
    """scope of the restart. Default: restartScope of the role."""

    signals: List[int]
    """signals that ended it, 1 to 64: 9 is the exit code 137."""


class Recovery(TypedDict, total=False):
    """recovery sets what restarts, how often and how fast. May change at any time and counts from then on;
    restartMethod counts from the next attempt."""

    avoidNodesSeconds: int
    """avoidNodesSeconds is how long new pods of the job prefer other nodes to one that caused an incident: at once
    if the node itself failed, otherwise after two exits on it. 0 avoids none. Default 86400, one day."""

    backoffSeconds: int
    """backoffSeconds is the wait before the second restart in a row, at least 1 second. It doubles with each
    further one, up to maxBackoffSeconds. The first restart after 10 calm minutes begins at once. Each replica that
    restarts alone, each role and the whole job have their own back-off. Default 5."""

    forceAfterSeconds: int
    """forceAfterSeconds is how long after its grace period a deleted pod may continue on a healthy node, before the
    operator deletes the object by force so that the job continues. Its processes may then still run beside the next
    ones and write: use it only if late writes cannot harm the checkpoints. The operator never forces a pod with a
    claim. Default: never."""

    incidentWindowSeconds: int
    """incidentWindowSeconds is how much later than a failure its true cause may show. A node that turns out to be
    lost within that time becomes the cause, and a charge is refunded. Default 60."""

    maxBackoffSeconds: int
    """maxBackoffSeconds is the longest wait before a restart; 0 counts as 1. Default 300."""

    maxHangRestarts: int
    """maxHangRestarts is the same for restarts because of stalled progress. Default 5."""

    maxOOMRestarts: int
    """maxOOMRestarts is the same for containers that ran out of memory. Default 3, because a restart rarely needs
    less memory."""

    maxRestarts: int
    """maxRestarts is the number of restarts within windowSeconds for the job's own failures; one more failure fails
    the job. Restarts of lost pods (node, drain, eviction, preemption, deletion) are not charged. Default: 10, or
    one for every ten replicas that restart alone (scope Replica) if that is more, because a thousand workers fail
    ten times as often as a hundred."""

    noProgressLimit: int
    """noProgressLimit is the number of charged restarts of the whole job in a row, hangs included, without a newer
    step in its progress. One more fails the job, regardless of its budgets. It applies to jobs with spec.progress
    that have reported a step. Lost pods and replicas that restart alone do not count. 0 turns it off. Default 3."""

    restartMethod: Literal["Recreate", "InPlace"]
    """restartMethod is how replicas restart. InPlace starts the main container again in its pod, which keeps its
    node, devices and volumes, also if the container has ended. A replica whose pod cannot restart gets a new pod.
    Recreate deletes all pods and creates new ones. Default: InPlace for PyTorch jobs that are not elastic, JAX and
    XGBoost, if every template's terminationGracePeriodSeconds is at most terminationGraceSeconds, because a program
    that ignores SIGTERM delays the restart for that long. Otherwise Recreate, and also if the leader's template
    declares or probes the port at which the ranks meet. May change at any time and counts from the next attempt or
    resumption."""

    rules: List[Rule]
    """rules replace the defaults for the failures that they match; the first match wins. Default: none."""

    sameCrashLimit: int
    """sameCrashLimit is the number of charged restarts in a row after the same crash: a rank exited with the same
    code, and the same line of its own explains it. One more such crash fails the job, and its nodes are no longer
    avoided for them. In a row are restarts with less than 10 minutes of running between them, and without a newer
    step if the job reports steps. Signals, lack of memory, lost peers and failed input or output do not count. 0
    turns it off. Default 3."""

    terminationGraceSeconds: int
    """terminationGraceSeconds is the time from SIGTERM to SIGKILL for a pod that a restart ends, if its template
    does not have less. Raise it for programs that save on SIGTERM. Suspension, scaling and clean-up use the
    template's time. Default 5. May change at any time; its effect on restartMethod begins with the next attempt or
    resumption."""

    windowSeconds: int
    """windowSeconds is how long a charged restart counts against its budget. Default 86400, one day."""


class ReplicaSpecRequired(TypedDict):
    """What every ReplicaSpec has."""

    template: Dict[str, Any]
    """template is the pod. The operator adds host name, subdomain, labels, environment variables that the template
    does not set, and restartPolicy Never, because the operator restarts pods itself. May change only while
    suspended."""


class ReplicaSpec(ReplicaSpecRequired, total=False):
    """ReplicaSpec is one role of a job."""

    replicas: int
    """replicas is the number of pods of this role, 0 to 10000. Default 1. Only the Worker role of an elastic job
    can be scaled while the job runs."""

    restartPolicy: Literal["Never", "OnFailure", "Always", "ExitCode"]
    """restartPolicy decides which exits restart. OnFailure: every exit code except 0 and the permanent ones.
    Always: also exit code 0, that replica alone and not charged, unless the job waits for its success or it is a
    rank of a collective. ExitCode: signals, which are the exit codes 129 to 192 without 139; all others fail the
    job. Never: none. Under every policy 93, 126 and 127 are permanent and fail the job: a program exits with 93 to
    prevent another attempt, and a command that cannot run exits with 126 or 127. Under every policy a pod that was
    lost without its own fault (drained, evicted, deleted) restarts. A rule of recovery.rules may decide otherwise.
    Default OnFailure. May change at any time and counts for exits from then on."""

    restartScope: Literal["Replica", "Role", "Job"]
    """restartScope is what restarts when a replica of this role fails: Replica (only it), Role (all of its role) or
    Job (the whole job). Default by framework and role; status.replicaStatuses shows the scope in force. May change
    at any time and counts for failures from then on."""


class RunPolicy(TypedDict, total=False):
    """runPolicy sets the deadlines and the clean-up. May change at any time and counts at once. Its times count
    from the same moments as before."""

    activeDeadlineSeconds: int
    """activeDeadlineSeconds fails the job this many seconds after its first start, without suspended time. At most
    10 years. Default: none."""

    cleanPodPolicy: Literal["None", "Running", "All"]
    """cleanPodPolicy selects the pods that the operator deletes when the job has succeeded or failed: Running (pods
    that still run; finished pods keep their logs), All or None. Every policy deletes pods that never ran. Default
    Running."""

    finishGraceSeconds: int
    """finishGraceSeconds is the time that running replicas have to end by themselves after the success of the job:
    ranks may still write their part of the last checkpoint, and an evaluator may read it. Parameter servers end
    with the last of them. Workers of MPI that run the operator's sshd have no such time. Side-cars have it from the
    success of their replica on: they may still send metrics or logs. Default 30."""

    startupDeadlineSeconds: int
    """startupDeadlineSeconds is the maximum time until all replicas of an attempt run, from the creation of its
    first pod. A time when a quota refuses all pods does not count, nor does the time of preflight checks of
    replicas that the job needs. Replacements of replicas do not move it, but the one after a preflight check that
    failed. After it the job restarts for a failure of cause Startup. At most 10 years. Default: none."""

    ttlSecondsAfterFinished: int
    """ttlSecondsAfterFinished deletes the job with all its pods this many seconds after it finished, at most 10
    years. Default: never."""


class TopologyRequired(TypedDict):
    """What every Topology has."""

    key: str
    """key is the node label whose value names the domain: topology.kubernetes.io/rack."""


class Topology(TopologyRequired, total=False):
    """topology keeps the pods near each other. Default: anywhere."""

    mode: Literal["Preferred", "Required"]
    """mode Required leaves the job pending while no domain has room for all its pods, and needs a gang. Preferred
    allows any nodes. Default Preferred."""

    roles: List[str]
    """roles whose pods must be near each other. Default: all except Evaluator and Launcher, or all if the job has
    no others."""

    tier: int
    """tier is the highest tier of Volcano's HyperNodes that the job may cross; Volcano then ignores key. Default:
    by key."""


class Scheduling(TypedDict, total=False):
    """scheduling sets how the job's pods get nodes: all or none, the queue, and the distance between them. Default:
    each pod separately, unless the operator's --gang sets a gang. May change only while suspended."""

    gang: Literal["None", "Native", "Volcano", "Coscheduling"]
    """gang selects the scheduler that places all pods at once or none: Native (Kubernetes' own PodGroup), Volcano,
    Coscheduling (the scheduler plug-in), or None. Default: the operator's --gang, with the default None."""

    minAvailable: int
    """minAvailable is the number of pods that must fit at once. Evaluators and a Custom job's own roles do not
    count: they join no gang. It may change while the job waits for nodes. Default: all other replicas; for an
    elastic job's workers minReplicas."""

    priorityClassName: str
    """priorityClassName of the gang, and of pods whose template names none. Default: none."""

    queue: str
    """queue of the gang's scheduler; only Volcano has queues. For Kueue use the label kueue.x-k8s.io/queue-name.
    Default: the scheduler's own."""

    schedulerName: str
    """schedulerName of pods whose template names none. Default: volcano for Volcano, scheduler-plugins-scheduler
    for Coscheduling, otherwise Kubernetes' scheduler."""

    timeoutSeconds: int
    """timeoutSeconds is the maximum time until every pod (elastic: minReplicas workers) of an attempt that does not
    run yet has a node, from the creation of its first pod. Replacements of replicas do not move it. A time when a
    quota refuses all pods does not count. Then the job fails. At most 10 years. Default: no limit."""

    topology: Topology
    """topology keeps the pods near each other. Default: anywhere."""


class TrainingJobSpecRequired(TypedDict):
    """What every TrainingJobSpec has."""

    framework: Literal["TensorFlow", "PyTorch", "JAX", "MPI", "XGBoost", "LightGBM", "Paddle", "Custom"]
    """framework selects the variables that the replicas need to find each other: TensorFlow (TF_CONFIG), PyTorch
    (MASTER_ADDR, RANK, PET_*), JAX (JAX_COORDINATOR_ADDRESS, ...), MPI (a host file, and SSH to the workers),
    XGBoost (DMLC_*, MASTER_ADDR, RANK), LightGBM (LIGHTGBM_MACHINES, MASTER_ADDR, RANK), Paddle (PADDLE_*) or
    Custom (TRAININGJOB_* only). It also selects the default restart scopes. Immutable."""

    replicaSpecs: Dict[str, ReplicaSpec]
    """replicaSpecs has the number of pods and the template of each role (Chief, Master, Launcher, PS, Worker,
    Evaluator). A Custom job may have roles of its own: a name in lower case, such as actor, learner or loader; 16
    roles at most."""


class TrainingJobSpec(TrainingJobSpecRequired, total=False):
    """spec is the desired training."""

    elastic: Elastic
    """elastic lets the number of workers change while the job runs, within bounds. Default: fixed. May change only
    while suspended."""

    managedBy: str
    """managedBy names the controller of this job. The operator ignores a job of another controller. Default:
    trainingjob.dev/operator, this operator. Immutable."""

    mpi: MPI
    """mpi sets how the launcher of an MPI job reaches the workers. May change only while suspended."""

    network: Network
    """network selects the pods with names in DNS. May change only while suspended."""

    progress: Progress
    """progress lets the job report its progress, so that the operator detects a hang. Default: no report. May
    change at any time. A pod from before cannot report and does not hang."""

    recovery: Recovery
    """recovery sets what restarts, how often and how fast. May change at any time and counts from then on;
    restartMethod counts from the next attempt."""

    runPolicy: RunPolicy
    """runPolicy sets the deadlines and the clean-up. May change at any time and counts at once. Its times count
    from the same moments as before."""

    scheduling: Scheduling
    """scheduling sets how the job's pods get nodes: all or none, the queue, and the distance between them. Default:
    each pod separately, unless the operator's --gang sets a gang. May change only while suspended."""

    successPolicy: Literal["Leader", "AllWorkers", "AnyWorker"]
    """successPolicy selects the replicas whose exit code 0 ends the job with success. Leader: the chief, master or
    launcher, or worker 0. AllWorkers: every leader and worker. AnyWorker: the first leader or worker that ends so.
    Default Leader. May change at any time and counts at once."""

    suspend: bool
    """suspend true deletes the pods and keeps all counts; false starts the job again. Queues such as Kueue write
    it. Default false. May change at any time."""


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
    """reason of the latest incident."""


class BudgetRequired(TypedDict):
    """What every Budget has."""

    limit: int
    """limit is the number of restarts that may be charged within the window."""

    name: Literal["maxRestarts", "maxOOMRestarts", "maxHangRestarts", "ruleMadeLosses", "evaluatorRestarts"]
    """name is the field of spec.recovery that sets the limit, or ruleMadeLosses, or evaluatorRestarts."""

    used: int
    """used is the number of charged restarts within the window, at the latest of them."""


class Budget(BudgetRequired, total=False):
    """Budget is the use of one budget."""


class CheckpointRequestRequired(TypedDict):
    """What every CheckpointRequest has."""

    deadlineTime: str
    """deadlineTime is when the operator stops them without an answer."""

    id: str
    """id of the request, which the answer repeats: "<attempt>-<Unix time>"."""

    reason: str
    """reason of the stop: SuspendedBySpec, AwaitingAdmission, RestartRequested, ScaledIn, or the reason why their
    pods end."""

    time: str
    """time of the request."""


class CheckpointRequest(CheckpointRequestRequired, total=False):
    """checkpointRequest is the request to the ranks to save a checkpoint before the operator stops them. It is
    absent otherwise."""


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
    """attempt in which it failed."""

    cause: Literal["Infrastructure", "Preempted", "Requested", "Completed", "OOM", "Retryable", "Fatal", "Hang", "Startup"]
    """cause is the kind of the failure. It decides whether the replica restarts, and which budget is charged."""

    index: int
    """index of the failed replica."""

    restartTime: str
    """restartTime is the time of the decision to restart."""

    role: str
    """role of the failed replica."""

    scope: Literal["Replica", "Role", "Job"]
    """scope of the restart."""

    time: str
    """time of the failure."""


class Incident(IncidentRequired, total=False):
    """Incident is one restart: its first failure, and the reaction."""

    alike: int
    """alike counts the other replicas that failed in the same second in the same way, with last words that do not
    distinguish them. Kubernetes timestamps have one-second precision, so the first of them is unknown. Later
    evidence may change the number."""

    charged: bool
    """charged is true if the restart counts against a budget."""

    container: str
    """container that failed, if it is not the main container: an init container, or a side-car that a rule names."""

    exitCode: int
    """exitCode of that container; absent if none ended. A code above 128 means a signal: 137 is signal 9."""

    explained: bool
    """explained is true if the cause showed only after the restart and replaced an earlier one."""

    followers: int
    """followers is the number of other replicas that restarted with it. Replicas and roles that restart without the
    whole job and end within 10 s are one incident."""

    message: str
    """message is the line of the container's termination message that explains the end, and then the end of its
    other lines. After SIGKILL it begins with the last line. For a hang it shows where the ranks were."""

    node: str
    """node of the pod."""

    pod: str
    """pod that failed. It stays for its log until the next restart, unless a side-car still ran, or the restart had
    deleted it before late evidence named it. The pods of other ranks that ended by themselves within two seconds
    stay too."""

    reason: str
    """reason as Kubernetes reports it: Error, OOMKilled, Evicted, NodeLost, ..."""

    replacement: int
    """replacement counts how often the replica had started again in that attempt: without the whole job, or after a
    suspension. A pod can be of several of these starts."""


class FailureRequired(TypedDict):
    """What every Failure has."""

    attempt: int
    """attempt in which it failed."""

    cause: Literal["Infrastructure", "Preempted", "Requested", "Completed", "OOM", "Retryable", "Fatal", "Hang", "Startup"]
    """cause is the kind of the failure. It decides whether the replica restarts, and which budget is charged."""

    index: int
    """index of the failed replica."""

    role: str
    """role of the failed replica."""

    time: str
    """time of the failure."""


class Failure(FailureRequired, total=False):
    """lastFailure is the failure behind the latest restart or the end of the job, or just before its suspension:
    the first of the failures that came together. A requested restart, and an exit with code 0 under restartPolicy
    Always, are no failures and do not change it."""

    alike: int
    """alike counts the other replicas that failed in the same second in the same way, with last words that do not
    distinguish them. Kubernetes timestamps have one-second precision, so the first of them is unknown. Later
    evidence may change the number."""

    container: str
    """container that failed, if it is not the main container: an init container, or a side-car that a rule names."""

    exitCode: int
    """exitCode of that container; absent if none ended. A code above 128 means a signal: 137 is signal 9."""

    message: str
    """message is the line of the container's termination message that explains the end, and then the end of its
    other lines. After SIGKILL it begins with the last line. For a hang it shows where the ranks were."""

    node: str
    """node of the pod."""

    pod: str
    """pod that failed. It stays for its log until the next restart, unless a side-car still ran, or the restart had
    deleted it before late evidence named it. The pods of other ranks that ended by themselves within two seconds
    stay too."""

    reason: str
    """reason as Kubernetes reports it: Error, OOMKilled, Evicted, NodeLost, ..."""

    replacement: int
    """replacement counts how often the replica had started again in that attempt: without the whole job, or after a
    suspension. A pod can be of several of these starts."""


class LostSeconds(TypedDict, total=False):
    """lostSeconds are the other seconds, by cause, at the latest change of this status."""

    detection: int
    """detection is the time from failures to the decision to restart the whole job or to fail it."""

    nodes: int
    """nodes is how long pods waited for nodes."""

    queue: int
    """queue is how long a queue kept the job suspended. This time is not part of the time since the first start."""

    redone: int
    """redone is how long the job ran after whole-job restarts until it reported a step as high as before. It is
    part of the time that the job ran. Only jobs that report steps have it."""

    restart: int
    """restart is the time from the decision until the operator could create the next pods: the end of pods, and
    back-offs."""

    starting: int
    """starting is how long pods with nodes were starting: images, init containers; the slowest pod counts."""


class ProgressStatusRequired(TypedDict):
    """What every ProgressStatus has."""

    step: int
    """step is the highest step reported since the job was last resumed."""


class ProgressStatus(ProgressStatusRequired, total=False):
    """progress is the latest report of the training."""

    checkpoint: str
    """checkpoint is the latest checkpoint reported."""

    checkpointTime: str
    """checkpointTime is when that checkpoint was first reported. A stop of the job loses the training since then."""

    metrics: Dict[str, str]
    """metrics are the numbers of the latest report, by name, with six significant digits. They are up to a minute
    old."""

    renewTime: str
    """renewTime is when the operator first saw the latest report. A report without a newer step or checkpoint shows
    here within 5 minutes."""


class ReplicaStatus(TypedDict, total=False):
    """ReplicaStatus is the state of the replicas of one role."""

    active: int
    """active is the number of pods that exist and have not finished, terminating ones included."""

    failed: int
    """failed is the number of replicas whose present pod has failed."""

    ready: int
    """ready is the number of pods that are ready."""

    restartScope: str
    """restartScope is the scope in force for this role."""

    restarts: int
    """restarts is the number of restarts that replicas of this role caused."""

    selector: str
    """selector selects the pods of this role; the scale subresource shows it."""

    succeeded: int
    """succeeded is the number of replicas that finished with success."""


class TrainingJobStatus(TypedDict, total=False):
    """status is what the operator observed and decided. Only the operator writes it."""

    attempt: int
    """attempt is the number of whole-job restarts so far: 0 in the job's first life."""

    avoidedNodes: List[AvoidedNode]
    """avoidedNodes are the nodes to which new pods of the job prefer all others, sorted by name. The scheduler may
    still choose one."""

    budgets: List[Budget]
    """budgets are the budgets with charges and their use."""

    chargedRestarts: int
    """chargedRestarts is how many of the restarts are charged to a budget of spec.recovery."""

    checkpointRequest: CheckpointRequest
    """checkpointRequest is the request to the ranks to save a checkpoint before the operator stops them. It is
    absent otherwise."""

    completionTime: str
    """completionTime is when the job succeeded or failed."""

    conditions: List[Condition]
    """conditions of the job. The API reference lists their types and reasons."""

    incidents: List[Incident]
    """incidents are the last 10 restarts, newest first."""

    lastFailure: Failure
    """lastFailure is the failure behind the latest restart or the end of the job, or just before its suspension:
    the first of the failures that came together. A requested restart, and an exit with code 0 under restartPolicy
    Always, are no failures and do not change it."""

    lostSeconds: LostSeconds
    """lostSeconds are the other seconds, by cause, at the latest change of this status."""

    memory: Dict[str, Any]
    """memory is what the operator must remember. Only the operator reads and writes it, and its form may change
    with any version."""

    message: str
    """message explains this phase in one sentence."""

    nextStartTime: str
    """nextStartTime is the time before which the operator creates no pod, because of the back-off after a whole-job
    restart. memory.roles.nextStarts has the times of single replicas."""

    observedGeneration: int
    """observedGeneration is the metadata.generation of the spec that this status describes."""

    phase: str
    """phase summarizes the conditions in one word."""

    progress: ProgressStatus
    """progress is the latest report of the training."""

    ready: str
    """ready is readyReplicas of replicas, for the column READY: "7/8". It is "-" while the job is suspended and
    once it has finished."""

    readyReplicas: int
    """readyReplicas is the number of replicas whose pod is ready."""

    reason: str
    """reason is the reason of this phase, in one word."""

    replicaStatuses: Dict[str, ReplicaStatus]
    """replicaStatuses is the state of the replicas by role."""

    replicas: int
    """replicas is the number of replicas that the job should have, in all roles."""

    restarts: int
    """restarts is the number of restarts so far: each restart of the job, of a role, or of a replica alone counts
    one."""

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
    """spec is the desired training."""


class TrainingJob(TrainingJobRequired, total=False):
    """TrainingJob is a distributed training run: replicas by role that find each other, and the reaction to their
    failures."""

    status: TrainingJobStatus
    """status is what the operator observed and decided. Only the operator writes it."""
