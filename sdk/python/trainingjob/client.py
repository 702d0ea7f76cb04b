"""The client: what people do with jobs. Every method may raise ApiError, those that name a job JobNotFound."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple, cast

from . import pods, restart, served, shortcut, story
from .checks import CONDITIONS, PHASES, one_of
from .errors import ApiError, JobFailed, JobNotFound, TrainingJobError
from .follow import condition, countdown, states
from .logs import Choice, Line, Logs
from .manifest import KIND, QUEUE_LABEL
from .scene import Scene
from .types import TrainingJob, TrainingJobStatus

LAST_LINES = 10  # of the log of the replica that failed the job
_QUEUE_PAUSED = "trainingjob.dev/queue-paused"  # the Kueue adapter keeps such a job out of its queue
_QUEUE_RESIZED = "trainingjob.dev/queue-resized"  # the Kueue adapter lets such a suspended job wait in its queue
_log = logging.getLogger("trainingjob")


class Client:
    """TrainingJobs of one namespace.

    A method that takes the name of a job takes also pytorchjob/NAME, tfjob/NAME and so on: a Kubeflow job that the operator serves. What it
    returns is of the TrainingJob that serves it, and what it changes is the Kubeflow job.

    namespace: default that of kubectl's context, else that of the pod this runs in, else "default".
    api: an object with the methods of trainingjob.kube.Kube. Default Kube(), which connects as kubectl would, or as a
    pod of the cluster; Kube(api_client) takes a kubernetes.client.ApiClient of your own.
    """

    def __init__(self, namespace: str | None = None, api: Any = None):
        if api is None:
            from .kube import Kube  # late: manifests do not need the kubernetes package
            api = Kube()
        self.namespace: str = namespace or getattr(api, "namespace", None) or "default"
        self._api = api

    def train(self, name: str, *, dry_run: bool = False, **arguments: Any) -> TrainingJob:
        """Creates a job from a function, a script or a command, and returns it; see trainingjob.train."""
        made = shortcut.manifest(name, namespace=self.namespace, **arguments)
        return made if dry_run else self._create(made)

    def submit(self, job: Mapping[str, Any], dry_run: bool = False) -> str:
        """Creates the job and returns its name; with dry_run the API server only says whether it would.

        Raises ValueError if it is no TrainingJob or names another namespace, ApiError with status 409 if there is
        a job of that name, 422 if the API server calls it invalid; the message says what to write instead.
        """
        return self._create(job, dry_run)["metadata"]["name"]

    def apply(self, job: Mapping[str, Any], force: bool = False, dry_run: bool = False) -> TrainingJob:
        """Creates the job, or makes the one of its name as this says (server-side apply), and returns it.

        force: takes fields over that somebody else manages; else that is an ApiError with status 409.
        """
        self._check(job)
        return cast(TrainingJob, self._api.apply(self.namespace, job, force, dry_run))

    def get(self, name: str) -> TrainingJob:
        """Returns the job as the API has it: metadata, spec, status."""
        return served.get(self._api, self.namespace, name)

    def list(self, labels: str | None = None, phase: str | None = None, all_namespaces: bool = False) -> List[TrainingJob]:
        """Returns the jobs by name.

        labels: a selector, such as "team=vision,stage!=test". phase: such as Running.
        all_namespaces: those of every namespace, by namespace and name.
        """
        one_of("phase", phase, PHASES)
        namespace = None if all_namespaces else self.namespace
        found = self._api.list(namespace, labels, f"status.phase={phase}" if phase else None)
        return sorted(found, key=lambda job: (job["metadata"].get("namespace", ""), job["metadata"]["name"]))

    def wait(self, name: str, timeout_seconds: float | None = None,
             on_change: Callable[[TrainingJobStatus], None] | None = None, until: str | Sequence[str] = "Succeeded") -> TrainingJobStatus:
        """Waits until a condition of the job is True, by default until it has succeeded, and returns its status.

        timeout_seconds: how long at most. Default None: as long as it takes.
        on_change: called with the status at first and whenever its phase or reason has changed.
        until: the condition, or several of which one suffices: Created, Queued, Scheduled, Running, Suspended, Succeeded, Failed, Finished ...

        Interrupted watches are resumed; an API server that is away for a while is asked again.
        Raises JobFailed if the job has failed and that was not waited for, TimeoutError if the condition is not True in time,
        TrainingJobError if the job has finished and it never will be, JobNotFound if the job is not there or is deleted meanwhile.
        """
        wanted = (until,) if isinstance(until, str) else tuple(until)
        for each in wanted:
            one_of("until", each, CONDITIONS, required=True)
        told: Any = None
        status: Any = {}
        remaining = countdown(timeout_seconds)
        name = served.awaited(self._api, self.namespace, name, remaining)
        for job in states(self._api, self.namespace, name, remaining):
            status = job.get("status", {})
            now = status.get("phase"), status.get("reason")
            if on_change and status.get("phase") and now != told:
                on_change(status)
                told = now
            if any(condition(status, each) for each in wanted):
                return status
            if condition(status, "Finished"):
                raise self._ended(cast(TrainingJob, job), " or ".join(wanted))
        what = "has not finished" if until == "Succeeded" else f"is not {' or '.join(wanted)}"
        raise TimeoutError(f"TrainingJob {name} {what} within {timeout_seconds} seconds: it is "
                           f"{status.get('phase') or 'not yet seen by the operator'}, {status.get('message', '')}")

    def logs(self, name: str, *, rank: int | str | None = None, role: str | None = None, attempt: int | str | None = None,
             follow: bool = False, tail: int | None = None, since_seconds: float | None = None,
             on_gap: Callable[[str], None] = _log.warning) -> Iterator[Line]:
        """Yields the lines of all ranks as one log, by time: Line(time, rank, replica, attempt, replacement, text).

        rank: a rank, or a text such as "0,3-7,last". Default all; 256 logs at a time are the most.
        role: such as "Worker". Default all.
        attempt: a number, or "all". Default each replica's present life, and with follow those to come.
        follow: goes on until the job has finished: waits for pods that are not there yet, goes on through restarts and
          replacements, takes up again what breaks off. No line is lost or comes twice.
        tail, since_seconds: leave out all but the last lines of each log, or what is older.
        on_gap: called with a sentence where lines may be missing, as a pod was gone too early. Default: a warning is logged.
        """
        job = self.get(name)
        roles = list(job["spec"]["replicaSpecs"])
        if role is not None and role.lower() not in map(str.lower, roles):
            raise ValueError(f"role is {role!r}: {name} has the roles {', '.join(roles)}")
        if attempt is not None and attempt != "all" and not str(attempt).isdecimal():
            raise ValueError(f"attempt is {attempt!r}: write a number from 0 on, or 'all'")
        choice = Choice(pods.chosen_ranks(rank, pods.last_rank(job)), role, attempt)
        since = ""
        if since_seconds is not None:
            since = (datetime.now(timezone.utc) - timedelta(seconds=since_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        scene = Scene(self._api, self.namespace, cast(Dict[str, Any], job))
        return Logs(self._api, self.namespace, scene, choice, follow, tail, since, on_gap).lines()

    def events(self, name: str) -> List[Dict[str, str]]:
        """Returns the Events about the job, oldest first: dicts of time, type, reason and message, all strings.

        Those of an earlier job of the same name are among them until Kubernetes forgets them (1 hour by default).
        """
        found = [{"time": _time(e), "type": e.get("type", ""), "reason": e.get("reason", ""),
                  "message": e.get("message", "")} for e in self._api.events(self.namespace, served.parse(name)[1])]
        return sorted(found, key=lambda event: event["time"])

    def pods(self, name: str) -> List[Dict[str, Any]]:
        """Returns the pods of the job's replicas as the API has them, by rank and life."""
        return self._pods(self.get(name))

    def why(self, name: str) -> story.Why:
        """Returns why the job is as it is: a sentence, and the facts behind it."""
        job = self.get(name)
        return story.why(job, self._pods(job), self.events(name))

    def timeline(self, name: str) -> story.Timeline:
        """Returns the attempts of the job with what broke in each, and where time was lost."""
        return story.timeline(self.get(name))

    def suspend(self, name: str) -> None:
        """Sets spec.suspend: the pods are deleted, what was counted is kept. A job of a queue leaves its place in the queue."""
        self._set_suspend(name, True)

    def resume(self, name: str) -> None:
        """Takes spec.suspend back: the pods are created again. A job of a queue waits in it until it is admitted."""
        self._set_suspend(name, False)

    def _set_suspend(self, name: str, suspend: bool) -> None:
        job = self.get(name)
        kind, plain = served.of(job), job["metadata"]["name"]
        if kind is None:
            self._api.patch(self.namespace, plain, _suspension(job, suspend))
        elif workload := served.workload(self._api, self.namespace, plain, kind):
            served.activate(self._api, self.namespace, workload, not suspend)
        else:
            self._api.patch(self.namespace, plain, {"spec": {"runPolicy": {"suspend": suspend}}}, kind.resource)

    def restart(self, name: str, replica: str | None = None, reason: str | None = None) -> int:
        """Requests a restart of the job, or of one replica such as worker-3, and returns the number of pods that it is for.

        The restart is no failure and not charged; the incident names the user. A restart of the whole job follows recovery.restartMethod: in place
        or with new pods. A named replica gets a new pod. If the other ranks cannot continue without it, the whole job restarts.
        """
        job = self.get(name)
        chosen = restart.chosen(job, self._pods(job), replica)
        self._patch(name, lambda _: restart.request(replica, reason))
        return len(chosen)

    def scale(self, name: str, workers: int) -> None:
        """Sets the number of workers, of an elastic job within its bounds or of a suspended one.

        Raises ValueError for a negative number, ApiError with status 422 where the job may not be scaled.
        """
        if workers < 0:
            raise ValueError(f"workers is {workers}: write 0 or more")
        kind, plain = self._target(name)
        if kind is None:
            self._api.scale(self.namespace, plain, workers)
        else:
            self._api.patch(self.namespace, plain, {"spec": {kind.roles: {"Worker": {"replicas": workers}}}}, kind.resource)

    def delete(self, name: str, wait: bool = False, timeout_seconds: float | None = None) -> None:
        """Deletes the job and its pods.

        wait: returns only when job and pods are gone. Default False: they go in the background.
        timeout_seconds: of waiting; then TimeoutError. Default None: as long as it takes.
        """
        kind, name = self._target(name)
        propagation = "Foreground" if wait else "Background"
        if kind is None:
            self._api.delete(self.namespace, name, propagation)
        else:
            self._api.delete(self.namespace, name, propagation, kind.resource)
        if not wait:
            return
        remaining = countdown(timeout_seconds)
        try:
            for _ in states(self._api, self.namespace, name, remaining):
                pass
        except JobNotFound:
            if kind is None or served.is_gone(self._api, self.namespace, name, kind, remaining):
                return
        raise TimeoutError(f"TrainingJob {name} is still there after {timeout_seconds} seconds")

    def _check(self, job: Mapping[str, Any]) -> None:
        if job.get("kind") != KIND:
            raise ValueError(f"kind is {job.get('kind')!r}: write kind: {KIND}")
        namespace = job.get("metadata", {}).get("namespace", self.namespace)
        if namespace != self.namespace:
            raise ValueError(f"the job names namespace {namespace}: write Client(namespace={namespace!r})")

    def _create(self, job: Mapping[str, Any], dry_run: bool = False) -> TrainingJob:
        self._check(job)
        return cast(TrainingJob, self._api.create(self.namespace, job, dry_run))

    def _target(self, name: str) -> Tuple[served.Kind | None, str]:
        """Returns what to change: the kind of Kubeflow's, None for a TrainingJob, and its plain name."""
        job = self.get(name)
        return served.of(job), job["metadata"]["name"]

    def _patch(self, name: str, patch: Callable[[served.Kind | None], Dict[str, Any]]) -> None:
        kind, plain = self._target(name)
        if kind is None:
            self._api.patch(self.namespace, plain, patch(kind))
        else:
            self._api.patch(self.namespace, plain, patch(kind), kind.resource)

    def _pods(self, job: TrainingJob) -> List[Dict[str, Any]]:
        return pods.replicas(self._api.pods(self.namespace, pods.selector(job))["items"])

    def _ended(self, job: TrainingJob, until: str) -> TrainingJobError:
        """Returns what to raise about a job that has finished otherwise than it was waited for."""
        status = job.get("status", {})
        failed = condition(status, "Failed")
        if not failed:
            return TrainingJobError(f"{job['metadata']['name']} has finished ({status.get('reason')}) and will not become {until} any more")
        failure = status.get("lastFailure")
        words = "" if not failure or failure.get("message") else self._last_words(failure.get("pod", ""))
        return JobFailed(failed["reason"], failed.get("message", ""), failure, words)

    def _last_words(self, pod: str) -> str:
        """Returns the end of a pod's log; an empty text if it is gone or may not be read."""
        try:
            pieces = self._api.log(self.namespace, pod, {"tailLines": str(LAST_LINES)})
            return b"".join(pieces).decode(errors="replace").strip()
        except ApiError:
            return ""


def _suspension(job: Mapping[str, Any], suspend: bool) -> Dict[str, Any]:
    """Returns the patch that suspends or resumes a TrainingJob."""
    if not (job["metadata"].get("labels") or {}).get(QUEUE_LABEL):
        return {"spec": {"suspend": suspend}}
    if suspend:
        return {"metadata": {"annotations": {_QUEUE_PAUSED: "true"}}, "spec": {"suspend": True}}
    requeued = {_QUEUE_RESIZED: "true"} if job["spec"].get("suspend") else {}
    return {"metadata": {"annotations": {_QUEUE_PAUSED: None, **requeued}}}


def _time(event: Mapping[str, Any]) -> str:
    return event.get("eventTime") or event.get("lastTimestamp") or event["metadata"]["creationTimestamp"]
