"""What the function of the component, and python -m trainingjob.kfp, call in the step's image."""

from __future__ import annotations

import contextlib
from typing import Any, Mapping, NamedTuple, Sequence, Tuple

from .. import Client
from ..errors import TrainingJobError
from . import launch, termination

TERMINATION_LOG = "/dev/termination-log"  # a kubelet makes it in each container, and puts its text into the pod's status
MOST_MESSAGE = 2048  # letters of it; a kubelet takes 4096 bytes


class Outputs(NamedTuple):
    """The outputs of the component."""

    name: str
    phase: str
    duration_seconds: float
    restarts: int


def main(name: str, job: Mapping[str, Any], namespace: str, on_termination: str, task: Tuple[str, str, str], metrics: Any,
         task_config: Any) -> Outputs:
    """Runs the job of a task and fills in the metrics."""
    outcome = run(name, job, namespace, on_termination, task, vars(task_config) if task_config else {})
    for key, value in outcome.metrics.items():
        metrics.log_metric(key, value)
    return Outputs(outcome.name, outcome.phase, outcome.duration_seconds, outcome.restarts)


def run(name: str, job: Mapping[str, Any], namespace: str, on_termination: str, task: Sequence[str],
        task_config: Mapping[str, Any] | None = None) -> launch.Outcome:
    """Runs the job of a task and returns how it ended.

    task: what identifies the task, the same in each try. If the job fails, the pod's termination message has the error: Argo and
    Pipelines show it at the step.
    """
    termination.hold()
    meta = {key: value for key, value in job.get("metadata", {}).items() if key != "namespace"}
    named = {**_whole(job), "metadata": {**meta, "name": launch.job_name(name, *task)}}
    try:
        client = Client(namespace or None)
        return launch.run(client, launch.with_task_config(named, task_config or {}), "/".join(task), on_termination, _print)
    except (TrainingJobError, ValueError) as error:
        _leave_message(str(error))
        raise


def _leave_message(text: str) -> None:
    with contextlib.suppress(OSError):  # outside of Kubernetes there is no such file, and none is made
        with open(TERMINATION_LOG, "r+", encoding="utf-8") as file:
            file.write(text[:MOST_MESSAGE])


def _whole(value: Any) -> Any:
    """Returns the value with whole numbers as such: Pipelines keep all numbers as floating point, which the API refuses as replicas."""
    if isinstance(value, Mapping):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _print(text: str) -> None:
    print(text, flush=True)
