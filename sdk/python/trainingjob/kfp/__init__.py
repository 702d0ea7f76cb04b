"""TrainingJobs as steps of Kubeflow Pipelines: pip install "trainingjob[kfp]".

trainingjob.kfp.train() makes a step. The step runs in an image that has this package with its extra, as nothing is installed at run
time; what it does is in trainingjob.kfp.launch, which imports nothing of kfp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .component import train

__all__ = ["train"]


def __getattr__(name: str) -> Any:
    """Imports the component when it is asked for: the step itself, trainingjob.kfp.step, needs no kfp."""
    if name == "train":
        from . import component
        return component.train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
