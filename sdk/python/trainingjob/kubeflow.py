"""The names of Kubeflow's TrainingClient, for programs that use them: each is a line on top of Client.

What differs: there is one kind of job, so job_kind is accepted and ignored; conditions are TrainingJob's (Succeeded, Failed, Running,
Created, Restarting, Suspended); a job that fails while something else is waited for raises JobFailed; logs go through restarts.
"""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, List, Mapping, Sequence, Tuple

from . import pods
from .client import Client
from .follow import condition
from .types import Condition, TrainingJob

WAIT_SECONDS = 600  # seconds that waiting takes by default, as in Kubeflow


class TrainingClient:
    """Kubeflow's names for what Client does; client is the Client behind it."""

    def __init__(self, namespace: str | None = None, client: Client | None = None, **_: Any):
        self.client = client or Client(namespace)

    def create_job(self, job: Mapping[str, Any] | None = None, name: str | None = None, *, train_func: Callable[..., Any] | None = None,
                   parameters: Mapping[str, Any] | None = None, base_image: str | None = None, num_workers: int = 1,
                   resources_per_worker: Mapping[str, Any] | None = None, packages_to_install: Sequence[str] | None = None,
                   env_vars: Mapping[str, Any] | None = None, framework: str = "PyTorch", **_: Any) -> None:
        """Creates the job, a manifest as of trainingjob.job(), or one from a function."""
        if job is not None:
            self.client.submit(job)
            return
        if not name:
            raise ValueError("name is missing: write name= with train_func= and base_image=, or job=")
        self.client.train(name, func=train_func, func_args=parameters, image=base_image, workers=num_workers,
                          resources=resources_per_worker, packages=packages_to_install, env=env_vars, framework=framework)

    def train(self, *_: Any, **__: Any) -> None:
        """Kubeflow's tunes a language model from a hub."""
        raise NotImplementedError("TrainingClient.train of Kubeflow, which tunes a language model from a hub, has no counterpart: "
                                  "write create_job(train_func=...), or trainingjob.train(name, func=...)")

    def get_job(self, name: str, **_: Any) -> TrainingJob:
        return self.client.get(name)

    def list_jobs(self, **_: Any) -> List[TrainingJob]:
        return self.client.list()

    def update_job(self, job: Mapping[str, Any], name: str | None = None, **_: Any) -> TrainingJob:
        """Applies the job on the server's side: fields that it does not name stay as they are."""
        return self.client.apply(job)

    def delete_job(self, name: str, **_: Any) -> None:
        self.client.delete(name)

    def get_job_conditions(self, name: str, **_: Any) -> List[Condition]:
        return self.client.get(name).get("status", {}).get("conditions", [])

    def is_job_created(self, name: str, **_: Any) -> bool:
        return self._is(name, "Created")

    def is_job_running(self, name: str, **_: Any) -> bool:
        return self._is(name, "Running")

    def is_job_restarting(self, name: str, **_: Any) -> bool:
        return self._is(name, "Restarting")

    def is_job_succeeded(self, name: str, **_: Any) -> bool:
        return self._is(name, "Succeeded")

    def is_job_failed(self, name: str, **_: Any) -> bool:
        return self._is(name, "Failed")

    def wait_for_job_conditions(self, name: str, expected_conditions: Collection[str] = ("Succeeded",),
                                timeout: float | None = WAIT_SECONDS, callback: Callable[[Any], None] | None = None, **_: Any) -> TrainingJob:
        """Waits for any of the conditions; polling_interval is ignored, as a watch tells each change.

        callback: called with the status, not with the job.
        """
        self.client.wait(name, timeout, callback, tuple(expected_conditions))
        return self.client.get(name)

    def get_job_pods(self, name: str, is_master: bool = False, replica_type: str | None = None,
                     replica_index: int | None = None, **_: Any) -> List[Dict[str, Any]]:
        """Returns the pods, or those of rank 0, of a role, or of an index in it."""
        def fits(pod: Dict[str, Any]) -> bool:
            role, _, index = pods.replica(pod).rpartition("-")
            return ((not is_master or pods.rank(pod) == 0) and (replica_type is None or role == replica_type.lower())
                    and (replica_index is None or int(index) == replica_index))
        return [pod for pod in self.client.pods(name) if fits(pod)]

    def get_job_pod_names(self, name: str, **chosen: Any) -> List[str]:
        return [pod["metadata"]["name"] for pod in self.get_job_pods(name, **chosen)]

    def get_job_logs(self, name: str, is_master: bool = True, replica_type: str | None = None, follow: bool = False,
                     **_: Any) -> Tuple[Dict[str, str], Dict[str, List[str]]]:
        """Returns the logs by replica, and an empty dict where Kubeflow has Events. follow prints lines and returns at the job's end."""
        logs: Dict[str, str] = {}
        for line in self.client.logs(name, rank=0 if is_master and replica_type is None else None, role=replica_type, follow=follow):
            if follow:
                print(line, flush=True)
            logs[line.replica] = logs.get(line.replica, "") + line.text + "\n"
        return logs, {}

    def _is(self, name: str, kind: str) -> bool:
        return condition(dict(self.client.get(name).get("status", {})), kind) is not None
