"""TrainingJobs as steps of Kubeflow Pipelines: pip install "trainingjob[kfp]".

trainingjob.kfp.train() makes a step with kfp 2. The step runs in an image that has this package with its extra, as nothing is installed at
run time; what it does is in trainingjob.kfp.launch, which imports nothing of kfp. COMPONENT is the file that kfp 1.8 makes a step of.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .component import train

__all__ = ["COMPONENT", "train"]

COMPONENT = str(pathlib.Path(__file__).with_name("component.yaml"))


def __getattr__(name: str) -> Any:
    """Imports the component when it is asked for: the step itself, trainingjob.kfp.step, needs no kfp."""
    if name == "train":
        from . import component
        return component.train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
