"""Write, submit, watch and mend TrainingJobs (trainingjob.dev/v1alpha1).

Manifests are plain dicts and need nothing but Python; Client needs the `kubernetes` package, once it is made.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any, Callable, Mapping, Sequence, Tuple

from . import hooks
from .client import Client
from .errors import ApiError, JobFailed, JobNotFound, TrainingJobError
from .logs import Line
from .manifest import job, replicas, template
from .parts import elastic, mpi, network, progress, recovery, rule, run_policy, scheduling
from .reporting import report
from .shortcut import forgets as _forgets
from .shortcut import manifest as _manifest
from .stop import should_stop
from .types import TrainingJob, TrainingJobStatus

__all__ = [
    "ApiError", "Client", "JobFailed", "JobNotFound", "Line", "TrainingJob", "TrainingJobError", "TrainingJobStatus", "elastic", "hooks", "job",
    "mpi", "network", "progress", "recovery", "replicas", "report", "rule", "run_policy", "scheduling", "should_stop", "template",
    "train",
]


def train(name: str, *, func: Callable[..., Any] | None = None, func_args: Mapping[str, Any] | None = None,
          script: str | None = None, args: Sequence[str] | None = None, command: Sequence[str] | None = None,
          image: str | None = None, workers: int | None = None, ps: int = 0, resources: Mapping[str, Any] | None = None,
          volumes: Mapping[str, Any] | None = None, env: Mapping[str, Any] | None = None,
          packages: Sequence[str] | None = None, framework: str = "PyTorch", processes_per_worker: int | None = None,
          elastic: Tuple[int, int] | Mapping[str, Any] | None = None, gang: str | None = None, queue: str | None = None,
          recovery: Mapping[str, Any] | None = None, node_selector: Mapping[str, str] | None = None,
          tolerations: Sequence[Mapping[str, Any]] | None = None, namespace: str | None = None, dry_run: bool = False,
          **more: Any) -> TrainingJob:
    """Creates a job from a function, a script or a command, and returns it.

    func: a function that stands on its own: it imports what it uses. Its source is sent, not a pickle.
    func_args: its keyword arguments: texts, numbers, lists and dicts.
    script: a file of this machine, whose text is sent. command: what the image has. args: further words for either.
    image: of the container; it must have Python for func and script, and torch for PyTorch.
    workers, ps: how many. Default 1, or the least of elastic=, and 0.
    resources: of each worker, by cpu, memory, ephemeral-storage, gpu (nvidia.com/gpu) or a device such as amd.com/gpu. Parameter
      servers get the same without devices.
    volumes: what is mounted, by path: the name of a PersistentVolumeClaim ("data", or "data:ro"), or a volume as a pod has it.
    packages: what pip installs when the container starts: in air-gapped clusters build an image instead.
    framework: TensorFlow, PyTorch (default), JAX, XGBoost, LightGBM, Paddle or Custom.
    processes_per_worker: of PyTorch. Default the worker's GPUs; more than 1, or elastic=, starts them by torchrun.
    elastic: (least, most) workers, or what elastic() returns. gang: Native, Volcano, Coscheduling, or "None".
    queue: Kueue's LocalQueue. recovery: what recovery() returns.
    node_selector, tolerations: where the pods may run.
    dry_run: True asks no cluster and returns the job as it would be sent.
    more: run_policy, scheduling, progress, labels and the other arguments of job().

    Warns of a job without a volume that outlives its pods: a restart loses its training.
    Raises ValueError, which says what to write instead, or ApiError.
    """
    made = _manifest(
        name, func=func, func_args=func_args, script=script, args=args, command=command, image=image, workers=workers, ps=ps,
        resources=resources, volumes=volumes, env=env, packages=packages, framework=framework,
        processes_per_worker=processes_per_worker, elastic=elastic, gang=gang, queue=queue, recovery=recovery,
        node_selector=node_selector, tolerations=tolerations, namespace=namespace, **more)
    client = None if dry_run else Client(namespace)
    if client:
        client.submit(made)
    if warning := _forgets(made):
        warnings.warn(warning, stacklevel=2)
    return client.get(name) if client else made


def __getattr__(name: str) -> Any:
    """Imports kubeflow and kfp when they are first used: most programs use neither."""
    if name in ("kubeflow", "kfp"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
