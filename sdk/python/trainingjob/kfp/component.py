"""The component, and train(), which makes a step of it."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from kfp import dsl

from .. import shortcut
from .task import run_training_job
from .termination import ON_TERMINATION

PASSED = (dsl.TaskConfigField.RESOURCES, dsl.TaskConfigField.ENV, dsl.TaskConfigField.KUBERNETES_NODE_SELECTOR,
          dsl.TaskConfigField.KUBERNETES_TOLERATIONS, dsl.TaskConfigField.KUBERNETES_VOLUMES, dsl.TaskConfigField.KUBERNETES_AFFINITY)


def component(image: str) -> Any:
    """Returns the component whose steps run in the image: it must have trainingjob[kfp]."""
    return dsl.component(base_image=image, install_kfp_package=False, task_config_passthroughs=list(PASSED))(run_training_job)


def train(name: str, step_image: str, *, job: Optional[Mapping[str, Any]] = None, namespace: str = "", on_termination: str = "suspend",
          **arguments: Any) -> Any:
    """Makes a step that runs a TrainingJob, and returns it; call it within a pipeline.

    name: the beginning of the job's name; the rest is made of the run and the task, so that a retry takes the same job up.
    step_image: what the step itself runs in: Python with trainingjob[kfp] of this version.
    job: a manifest as of trainingjob.job(). Or the arguments of trainingjob.train: image=, func=, script=, command=, workers=,
      resources= ... What is set on the step (set_cpu_limit, set_accelerator_type, kfp.kubernetes.mount_pvc ...) reaches every replica.
    namespace: where the job runs. Default that of the step.
    on_termination: what becomes of the job when the run is terminated: "suspend" (default), "delete" or "keep".

    Outputs: name, phase, duration_seconds, restarts, and the artifact metrics. The step is not cached.
    """
    if on_termination not in ON_TERMINATION:
        raise ValueError(f"on_termination is {on_termination!r}: write suspend, delete or keep")
    if job is not None and arguments:
        raise ValueError(f"job and {', '.join(arguments)}: write either job= or image= and its companions")
    manifest: Dict[str, Any] = dict(job) if job is not None else dict(shortcut.manifest("job", **arguments))
    step = component(step_image)(
        prefix=name, job=manifest, namespace=namespace, on_termination=on_termination, run=dsl.PIPELINE_JOB_ID_PLACEHOLDER,
        group=dsl.PIPELINE_TASK_ID_PLACEHOLDER, task=dsl.PIPELINE_TASK_NAME_PLACEHOLDER)
    step.set_caching_options(False)  # a job's arguments say nothing of the data that it trained on
    return step
