"""What the function of the component calls in the step's image."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Tuple

from .. import Client
from . import launch


class Outputs(NamedTuple):
    """The outputs of the component."""

    name: str
    phase: str
    duration_seconds: float
    restarts: int


def main(name: str, job: Mapping[str, Any], namespace: str, on_termination: str, task: Tuple[str, str, str], metrics: Any,
         task_config: Any) -> Outputs:
    """Runs the job of a task and fills in the metrics."""
    client = Client(namespace or None)
    meta = {key: value for key, value in job.get("metadata", {}).items() if key != "namespace"}
    named = {**_whole(job), "metadata": {**meta, "name": launch.job_name(name, *task)}}
    configured = launch.with_task_config(named, vars(task_config) if task_config else {})
    outcome = launch.run(client, configured, "/".join(task), on_termination, _print)
    for key, value in outcome.metrics.items():
        metrics.log_metric(key, value)
    return Outputs(outcome.name, outcome.phase, outcome.duration_seconds, outcome.restarts)


def _whole(value: Any) -> Any:
    """Returns the value with whole numbers as such: Pipelines keep all numbers as floating point, which the API refuses as replicas."""
    if isinstance(value, Mapping):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _print(text: str) -> None:
    print(text, flush=True)
