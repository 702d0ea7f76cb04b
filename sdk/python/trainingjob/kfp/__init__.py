"""TrainingJobs as steps of Kubeflow Pipelines: pip install "trainingjob[kfp]".

trainingjob.kfp.train() makes a step. The step runs in an image that has this package with its extra, as nothing is installed at run
time; what it does is in trainingjob.kfp.launch, which imports nothing of kfp.
"""

from __future__ import annotations

from .component import train

__all__ = ["train"]
