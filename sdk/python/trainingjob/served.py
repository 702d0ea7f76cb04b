"""Kubeflow jobs that the operator serves: pytorchjob/NAME is such a job wherever a name is taken.

The TrainingJob of the same name has the status and the pods. Who changes the job changes Kubeflow's, and the operator the TrainingJob after it.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Mapping, NamedTuple, Tuple, cast

from .errors import ApiError, JobNotFound
from .manifest import QUEUE_LABEL
from .types import TrainingJob

GROUP = "kubeflow.org"
WORKLOADS = "workloads"  # Kueue's: it starts each Kubeflow job whose Workload is admitted and active
START_SECONDS = 30  # how long an operator may take to make the TrainingJob of a new job
PAUSE_SECONDS = 0.5
OWN_MANAGERS = ("", "kubeflow.org/training-operator")


class Kind(NamedTuple):
    """A kind of Kubeflow's, and the field of its spec that has the roles."""

    name: str
    roles: str

    @property
    def resource(self) -> str:
        return self.name.lower() + "s"


KINDS = (Kind("PyTorchJob", "pytorchReplicaSpecs"), Kind("TFJob", "tfReplicaSpecs"), Kind("XGBoostJob", "xgbReplicaSpecs"),
         Kind("PaddleJob", "paddleReplicaSpecs"), Kind("JAXJob", "jaxReplicaSpecs"))


class NotYet(JobNotFound):
    """No operator has made the TrainingJob, and nothing says that none will."""


def parse(name: str) -> Tuple[Kind | None, str]:
    """Returns the kind and the plain name: None of mnist and tj/mnist, PyTorchJob of pytorchjob/mnist. Raises ValueError for another kind."""
    word, slash, plain = name.partition("/")
    if not slash:
        return None, name
    word = word.lower().replace(f".v1.{GROUP}", "").replace(f".{GROUP}", "")
    if word in ("tj", "trainingjob", "trainingjobs"):
        return None, plain
    for kind in KINDS:
        if word in (kind.name.lower(), kind.resource):
            return kind, plain
    raise ValueError(f"name is {name!r}: write NAME, tj/NAME or {', '.join(kind.name.lower() + '/NAME' for kind in KINDS)}")


def of(job: Mapping[str, Any]) -> Kind | None:
    """Returns the kind of the Kubeflow job that the TrainingJob serves; None if it serves none."""
    for owner in job["metadata"].get("ownerReferences", []):
        if owner.get("controller") and owner["apiVersion"] == f"{GROUP}/v1" and owner["name"] == job["metadata"]["name"]:
            return next((kind for kind in KINDS if kind.name == owner["kind"]), None)
    return None


def get(api: Any, namespace: str, name: str) -> TrainingJob:
    """Returns the TrainingJob of that name, or the one that serves pytorchjob/NAME. Raises JobNotFound, which says why there is none."""
    kind, plain = parse(name)
    try:
        found = api.get(namespace, plain)
    except JobNotFound:
        if kind is None:
            raise
        found = None
    if kind is None or (found is not None and of(found) == kind):
        return cast(TrainingJob, found)
    job = api.get(namespace, plain, kind.resource)
    about = f"{kind.name} {plain} in namespace {namespace} has no TrainingJob"
    cause = _cause(kind, job)
    if cause:
        raise JobNotFound(f"{about}: {cause}")
    if found is not None:
        raise JobNotFound(f"{about}: another job has its name, give one of them another name")
    raise NotYet(f"{about}: no operator serves it, or not yet; kubectl tj why {kind.name.lower()}/{plain} shows the cause")


def awaited(api: Any, namespace: str, name: str, remaining: Callable[[], float]) -> str:
    """Returns the plain name, of a new Kubeflow job once it is served. Raises JobNotFound if it is not in time."""
    kind, plain = parse(name)
    end = time.monotonic() + min(START_SECONDS, max(0.0, remaining()))
    while kind is not None:
        try:
            get(api, namespace, name)
            break
        except NotYet:
            if time.monotonic() >= end:
                raise
            time.sleep(PAUSE_SECONDS)
    return plain


def is_gone(api: Any, namespace: str, name: str, kind: Kind, remaining: Callable[[], float]) -> bool:
    """Waits until the Kubeflow job is gone, and returns whether it is: it goes after its TrainingJob."""
    while True:
        try:
            api.get(namespace, name, kind.resource)
        except JobNotFound:
            return True
        if remaining() <= 0:
            return False
        time.sleep(PAUSE_SECONDS)


def workload(api: Any, namespace: str, name: str, kind: Kind) -> Dict[str, Any] | None:
    """Returns the Workload by which Kueue queues the Kubeflow job; None if no queue has it."""
    job = api.get(namespace, name, kind.resource)["metadata"]
    if not (job.get("labels") or {}).get(QUEUE_LABEL):
        return None
    try:
        workloads = api.list(namespace, resource=WORKLOADS)
    except ApiError as error:
        if error.status == 404:  # the cluster has no Kueue
            return None
        raise
    for found in workloads:
        owners = found["metadata"].get("ownerReferences", [])
        if any(owner.get("controller") and owner["uid"] == job["uid"] for owner in owners) and "deletionTimestamp" not in found["metadata"]:
            return cast(Dict[str, Any], found)
    return None


def activate(api: Any, namespace: str, workload: Mapping[str, Any], active: bool) -> None:
    """Lets Kueue start or stop the job of the Workload. One that Kueue has given up is deleted, and Kueue makes another."""
    name = workload["metadata"]["name"]
    if active and _is_given_up(workload):
        api.delete(namespace, name, "Background", WORKLOADS)
    else:
        api.patch(namespace, name, {"metadata": {"uid": workload["metadata"]["uid"]}, "spec": {"active": active}}, WORKLOADS)


def _is_given_up(workload: Mapping[str, Any]) -> bool:
    return not workload["spec"].get("active", True) and any(
        condition["type"] == "Evicted" and condition["reason"].startswith("DeactivatedDueTo")
        for condition in workload.get("status", {}).get("conditions", []))


def _cause(kind: Kind, job: Mapping[str, Any]) -> str:
    """Returns what the Kubeflow job itself shows; an empty text for nothing."""
    manager = job["spec"].get("runPolicy", {}).get("managedBy", "")
    if manager not in OWN_MANAGERS:
        return f"{manager} runs it (spec.runPolicy.managedBy)"
    for condition in job.get("status", {}).get("conditions", []):
        if condition["status"] == "True" and condition.get("reason") == f"{kind.name}FailedValidation":
            return f"it was refused: {condition.get('message', '')}"
        if condition["status"] == "True" and condition["type"] == "Stalled":
            return condition.get("message", "")
        if condition["status"] == "True" and condition["type"] in ("Succeeded", "Failed"):
            return f"it has ended ({condition['type']})"
    return ""
