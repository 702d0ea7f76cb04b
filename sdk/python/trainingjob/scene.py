"""A job and its pods as they are now, kept by watches in the background."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List

from . import pods
from .errors import ApiError, JobNotFound
from .follow import PAUSE_SECONDS, WATCH_SECONDS, condition, states


class Scene:
    """A job and its pods as they are now. failure is what ended the watches, if they could not go on."""

    def __init__(self, api: Any, namespace: str, job: Dict[str, Any]):
        self._api, self._namespace = api, namespace
        self._changed = threading.Condition()
        self._pods: Dict[str, pods.Pod] = {}
        self.changes = 0  # how often anything has changed
        self._selector = pods.selector(job)
        self._version = self._list()
        self.job = job
        self.stopped = False
        self.gone = False
        self.failure: ApiError | None = None

    def watch(self) -> None:
        """Starts the watches; until stop()."""
        for run in (self._watch_job, self._watch_pods):
            threading.Thread(target=self._guard, args=(run,), daemon=True).start()

    def stop(self) -> None:
        with self._changed:
            self.stopped = True
            self._tell()

    def wait(self, seconds: float) -> None:
        """Returns when something has changed, after so many seconds at the latest."""
        with self._changed:
            self._changed.wait(seconds)

    def is_over(self) -> bool:
        """Returns whether no new pods come."""
        return self.gone or condition(self.job.get("status", {}), "Finished") is not None

    def found(self) -> List[pods.Pod]:
        with self._changed:
            return pods.replicas(list(self._pods.values()))

    def look(self, pod: pods.Pod) -> pods.Container:
        """Returns how the main container of a pod is now."""
        with self._changed:
            now = self._pods.get(pods.uid(pod))
        found = pods.container(now or pod, pods.main_container(pod))
        if now is None or (not found.started and self.is_over()):
            return found._replace(gone=True)
        return found

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except ApiError as error:
            self.failure = error
            self.stop()

    def _watch_job(self) -> None:
        try:
            for job in states(self._api, self._namespace, self.job["metadata"]["name"], self._remaining):
                if job["metadata"]["uid"] != self.job["metadata"]["uid"]:
                    break
                with self._changed:
                    self.job = job
                    self._tell()
                if self.stopped:
                    return
        except JobNotFound:
            pass
        with self._changed:
            self.gone = True
            self._tell()

    def _watch_pods(self) -> None:
        version = self._version
        while not self.stopped:
            try:
                if not version:
                    version = self._list()
                for change, pod in self._api.watch_pods(self._namespace, self._selector, version, WATCH_SECONDS):
                    version = pod["metadata"]["resourceVersion"]
                    self._put(change, pod)
                    if self.stopped:
                        return
            except ApiError as error:
                if not error.passing:
                    raise
                version = ""
            self.wait(PAUSE_SECONDS)

    def _list(self) -> str:
        found = self._api.pods(self._namespace, self._selector)
        with self._changed:
            self._pods = {pods.uid(pod): pod for pod in found["items"]}
            self._tell()
        return str(found["metadata"]["resourceVersion"])

    def _put(self, change: str, pod: pods.Pod) -> None:
        with self._changed:
            if change == "DELETED":
                self._pods.pop(pods.uid(pod), None)
            else:
                self._pods[pods.uid(pod)] = pod
            self._tell()

    def _tell(self) -> None:
        self.changes += 1
        self._changed.notify_all()

    def _remaining(self) -> float:
        return 0.0 if self.stopped else float("inf")
