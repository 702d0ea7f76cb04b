"""The client: what people do with jobs. Every method may raise ApiError, those that name a job JobNotFound."""

from __future__ import annotations

from typing import Callable, List

from .errors import JobFailed, JobNotFound
from .follow import condition, countdown, states
from .manifest import KIND


class Client:
    """TrainingJobs of one namespace.

    namespace: default that of kubectl's context, else that of the pod this runs in, else "default".
    api: an object with the methods of trainingjob.kube.Kube. Default Kube(), which connects as kubectl would, or as a
    pod of the cluster; Kube(api_client) takes a kubernetes.client.ApiClient of your own.
    """

    def __init__(self, namespace: str | None = None, api=None):
        if api is None:
            from .kube import Kube  # late: manifests do not need the kubernetes package
            api = Kube()
        self.namespace: str = namespace or getattr(api, "namespace", None) or "default"
        self._api = api

    def submit(self, job: dict) -> str:
        """Creates the job and returns its name.

        Raises ValueError if it is no TrainingJob or names another namespace, ApiError with status 409 if there is
        a job of that name, 422 if the API server calls it invalid; the message says what to write instead.
        """
        if job.get("kind") != KIND:
            raise ValueError(f"kind is {job.get('kind')!r}: write kind: {KIND}")
        namespace = job.get("metadata", {}).get("namespace", self.namespace)
        if namespace != self.namespace:
            raise ValueError(f"the job names namespace {namespace}: write Client(namespace={namespace!r})")
        return self._api.create(self.namespace, job)["metadata"]["name"]

    def get(self, name: str) -> dict:
        """Returns the job as the API has it: metadata, spec, status."""
        return self._api.get(self.namespace, name)

    def wait(self, name: str, timeout_seconds: float | None = None,
             on_change: Callable[[dict], None] | None = None) -> dict:
        """Waits until the job has succeeded, and returns its status.

        timeout_seconds: how long at most. Default None: as long as it takes.
        on_change: called with the status at first and whenever its phase or reason has changed.

        Interrupted watches are resumed; an API server that is away for a while is asked again.
        Raises JobFailed if the job has failed, TimeoutError if it has not finished in time, JobNotFound if it is not
        there or is deleted meanwhile.
        """
        told = status = None
        for job in states(self._api, self.namespace, name, countdown(timeout_seconds)):
            status = job.get("status", {})
            now = status.get("phase"), status.get("reason")
            if on_change and status.get("phase") and now != told:
                on_change(status)
                told = now
            if condition(status, "Finished"):
                return _succeeded(status)
        raise TimeoutError(f"TrainingJob {name} has not finished within {timeout_seconds} seconds: it is "
                           f"{status.get('phase') or 'not yet seen by the operator'}, {status.get('message', '')}")

    def events(self, name: str) -> List[dict]:
        """Returns the Events about the job, oldest first: dicts of time, type, reason and message, all strings.

        Those of an earlier job of the same name are among them until Kubernetes forgets them (1 hour by default).
        """
        found = [{"time": _time(e), "type": e.get("type", ""), "reason": e.get("reason", ""),
                  "message": e.get("message", "")} for e in self._api.events(self.namespace, name)]
        return sorted(found, key=lambda event: event["time"])

    def suspend(self, name: str) -> None:
        """Sets spec.suspend: the pods are deleted, what was counted is kept."""
        self._api.patch(self.namespace, name, {"spec": {"suspend": True}})

    def resume(self, name: str) -> None:
        """Takes spec.suspend back: the pods are created again."""
        self._api.patch(self.namespace, name, {"spec": {"suspend": False}})

    def scale(self, name: str, workers: int) -> None:
        """Sets the number of workers, of an elastic job within its bounds or of a suspended one.

        Raises ValueError for a negative number, ApiError with status 422 where the job may not be scaled.
        """
        if workers < 0:
            raise ValueError(f"workers is {workers}: write 0 or more")
        self._api.scale(self.namespace, name, workers)

    def delete(self, name: str, wait: bool = False, timeout_seconds: float | None = None) -> None:
        """Deletes the job and its pods.

        wait: True returns only when the job and all its pods are gone. Default False: return at once.
        timeout_seconds: how long to wait at most. Default None: as long as it takes. Raises TimeoutError.
        """
        self._api.delete(self.namespace, name, "Foreground" if wait else "Background")
        if not wait:
            return
        try:
            for _ in states(self._api, self.namespace, name, countdown(timeout_seconds)):
                pass
        except JobNotFound:
            return
        raise TimeoutError(f"TrainingJob {name} or a pod of it is still there after {timeout_seconds} seconds")

    def list(self) -> List[dict]:
        """Returns the jobs of the namespace, by name."""
        return sorted(self._api.list(self.namespace), key=lambda job: job["metadata"]["name"])


def _succeeded(status: dict) -> dict:
    failed = condition(status, "Failed")
    if failed:
        raise JobFailed(failed["reason"], failed.get("message", ""), status.get("lastFailure"))
    return status


def _time(event: dict) -> str:
    return event.get("eventTime") or event.get("lastTimestamp") or event["metadata"]["creationTimestamp"]
