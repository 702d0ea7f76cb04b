"""Following one job: get it, watch it from there, and begin anew where a watch cannot go on.

    get ──> watch ──ended──> watch from the version seen last
     ^        │
     └────────┴── 410 Gone, or no answer: what was missed is in the next get
"""

from __future__ import annotations

import math
import time
from typing import Any, Callable, Dict, Iterator, Mapping

from .errors import ApiError, JobNotFound

WATCH_SECONDS = 60  # short, so that a connection that died in silence is noticed
PAUSE_SECONDS = 1.0  # between one question and the next, in case the server ends all watches at once


def states(api: Any, namespace: str, name: str, remaining: Callable[[], float]) -> Iterator[Dict[str, Any]]:
    """Yields the job as it is and each time it changes, until remaining() (seconds) is used up.

    Raises JobNotFound when it is not there or is deleted (its last state is yielded before), ApiError when the server
    refuses, or does not even answer the first question.
    """
    uid = version = None
    while uid is None or remaining() > 0:
        try:
            if version is None:
                job = api.get(namespace, name)
                uid = uid or _uid(job)
                if _uid(job) != uid:
                    raise _deleted(name)
                yield job
                version = job["metadata"]["resourceVersion"]
            seconds = max(1, math.ceil(min(WATCH_SECONDS, remaining())))
            for change, job in api.watch(namespace, name, version, seconds):
                version = job["metadata"]["resourceVersion"]
                yield job
                if change == "DELETED":
                    raise _deleted(name)
        except ApiError as error:
            if uid is None or not error.passing:
                raise
            version = None
        time.sleep(max(0.0, min(PAUSE_SECONDS, remaining())))


def countdown(seconds: float | None) -> Callable[[], float]:
    """Returns a function that says how many of the seconds remain; None: for ever."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    return lambda: end - time.monotonic()


def condition(status: Mapping[str, Any], kind: str) -> Dict[str, Any] | None:
    """Returns the condition of that type if it is True, else None."""
    for found in status.get("conditions", []):
        if found["type"] == kind and found["status"] == "True":
            return found
    return None


def _uid(job: Mapping[str, Any]) -> str:
    return job["metadata"]["uid"]


def _deleted(name: str) -> JobNotFound:
    return JobNotFound(f"TrainingJob {name} was deleted")
