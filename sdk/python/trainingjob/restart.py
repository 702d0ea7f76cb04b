"""Restarts that a user requests by an annotation of the job. They are no failures and not charged."""

from __future__ import annotations

import getpass
from datetime import datetime, timezone
from typing import Any, Dict, List

from . import pods
from .errors import TrainingJobError
from .follow import condition
from .types import TrainingJob


def chosen(job: TrainingJob, found: List[pods.Pod], replica: str | None) -> List[pods.Pod]:
    """Returns the pods that can restart. Raises TrainingJobError with an alternative if there is none."""
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


def request(replica: str | None, reason: str | None) -> Dict[str, Any]:
    """Returns the patch of a job that requests the restart of one replica, or of the whole job."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    words = f"{now}, {_user()} with the Python SDK" + (f": {reason}" if reason else "")
    if replica:
        words = f"{replica.lower()}: {words}"
    return {"metadata": {"annotations": {f"{pods.LABEL}restart": words}}}


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a pod's user may have no name
        return "an unknown user"
