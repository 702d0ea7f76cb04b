"""Write, submit and wait for TrainingJobs (trainingjob.dev/v1alpha1).

Manifests are plain dicts and need nothing but Python; Client needs the `kubernetes` package, once it is made.
"""

from .client import Client
from .errors import ApiError, JobFailed, JobNotFound, TrainingJobError
from .manifest import job, replicas, template
from .parts import elastic, mpi, progress, recovery, rule, run_policy, scheduling, spares

__all__ = [
    "ApiError", "Client", "JobFailed", "JobNotFound", "TrainingJobError",
    "elastic", "job", "mpi", "progress", "recovery", "replicas", "rule", "run_policy", "scheduling", "spares", "template",
]
