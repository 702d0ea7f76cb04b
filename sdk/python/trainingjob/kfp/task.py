"""The function of the component. kfp sends its source; everything else comes from the step's image.

No "from __future__ import annotations" here: kfp reads the types of the arguments as objects.
"""

from typing import NamedTuple, Optional

from kfp import dsl


def run_training_job(
    prefix: str,
    job: dict,
    namespace: str,
    on_termination: str,
    run: str,
    group: str,
    task: str,
    metrics: dsl.Output[dsl.Metrics],
    task_config: Optional[dsl.TaskConfig] = None,
) -> NamedTuple("Outputs", [("name", str), ("phase", str), ("duration_seconds", float), ("restarts", int)]):  # type: ignore
    """Runs a TrainingJob and ends as it ends."""
    from trainingjob.kfp import step
    return step.main(prefix, job, namespace, on_termination, (run, group, task), metrics, task_config)
