"""Restarts that a person asks for, not charged: of the whole job the operator is asked, of one replica the pod is deleted."""

from __future__ import annotations

import getpass
from datetime import datetime, timezone
from typing import Any, Dict, List

from . import pods
from .errors import TrainingJobError
from .follow import condition
from .types import TrainingJob

DEFAULT_GRACE_SECONDS = 5  # recovery.terminationGraceSeconds
POD_GRACE_SECONDS = 30  # Kubernetes' default


def chosen(job: TrainingJob, found: List[pods.Pod], replica: str | None) -> List[pods.Pod]:
    """Returns the pods to delete. Raises TrainingJobError, which says what to do instead, if there is none."""
    name, spec = job["metadata"]["name"], job["spec"]
    if condition(job.get("status", {}), "Finished"):
        raise TrainingJobError(f"{name} has finished, and a job that has finished does not start again: submit it as another job")
    if spec.get("suspend"):
        raise TrainingJobError(f"{name} is suspended: resume it")
    other = spec.get("managedBy")
    if other:
        raise TrainingJobError(f"{name} is run by {other} (spec.managedBy): ask that to restart it")
    names = [pods.replica(pod) for pod in found]
    if replica is not None and replica.lower() not in names:
        raise TrainingJobError(f"{name} has no pod of replica {replica}: there are {', '.join(sorted(set(names))[:10]) or 'none'}")
    alive = [pod for pod in found if (replica is None or pods.replica(pod) == replica.lower())
             and pod.get("status", {}).get("phase") != "Succeeded" and "deletionTimestamp" not in pod["metadata"]]
    if not alive:
        raise TrainingJobError(f"{replica or name} has no pod that could be restarted")
    return alive


def grace(job: TrainingJob, pod: pods.Pod) -> int:
    """Returns how many seconds a pod has to end: what the operator would give it."""
    own = pod["spec"].get("terminationGracePeriodSeconds", POD_GRACE_SECONDS)
    return min(own, job["spec"].get("recovery", {}).get("terminationGraceSeconds", DEFAULT_GRACE_SECONDS))


def event(job: TrainingJob, what: str, reason: str | None) -> Dict[str, Any]:
    """Returns the Event that says who asked for the restart, and why."""
    meta = {key: job["metadata"].get(key) for key in ("namespace", "name", "uid")}
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"generateName": f"{meta['name']}-", "namespace": meta["namespace"]},
        "involvedObject": {"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob", **meta},
        "type": "Normal", "reason": "RestartRequested", "source": {"component": "trainingjob-sdk"},
        "message": f"{_user()} asked with the Python SDK for a restart of {what}." + (f" Reason: {reason}" if reason else ""),
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    }


def request(reason: str | None) -> Dict[str, Any]:
    """Returns the patch of a job that asks the operator for a restart of the whole of it."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    words = f"{now}, {_user()} with the Python SDK" + (f": {reason}" if reason else "")
    return {"metadata": {"annotations": {f"{pods.LABEL}restart": words}}}


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a pod's user may have no name
        return "an unknown user"
