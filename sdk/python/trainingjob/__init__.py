"""Write, submit and wait for TrainingJobs (trainingjob.dev/v1alpha1).

Manifests are plain dicts and need nothing but Python; Client needs the `kubernetes` package, once it is made.
"""

from .client import Client
from .errors import ApiError, JobFailed, JobNotFound, TrainingJobError
from .manifest import elastic, job, recovery, replicas, run_policy, template

__all__ = [
    "ApiError", "Client", "JobFailed", "JobNotFound", "TrainingJobError",
    "elastic", "job", "recovery", "replicas", "run_policy", "template",
]
