"""A stand-in for trainingjob.kube.Kube: it plays a script and keeps a record of what it was asked."""

from __future__ import annotations

from trainingjob import ApiError, JobNotFound

GONE = ApiError(410, "Expired: too old resource version")
AWAY = ApiError(0, "no answer from the API server")


def job(version: int, phase: str = "", reason: str = "", uid: str = "u1", **status) -> dict:
    """Returns a job as the API server would, at a resourceVersion; a final phase brings its conditions."""
    conditions = [{"type": kind, "status": "True", "reason": reason, "message": "why"}
                  for kind in (phase, "Finished") if phase in ("Succeeded", "Failed")]
    if phase:
        status.update(phase=phase, reason=reason, message="why", conditions=conditions)
    return {"metadata": {"name": "j", "uid": uid, "resourceVersion": str(version)}, "status": status}


def changes(*jobs: dict) -> list:
    """Returns a watch that brings these jobs and then ends."""
    return [("MODIFIED", job) for job in jobs]


class FakeApi:
    """Answers each get and each watch with the next of its script; an error in it is raised. Beyond it: silence."""

    def __init__(self, gets: list, watches: list = ()):
        self.gets = list(gets)
        self.watches = list(watches)
        self.asked: list = []
        self.words = b""

    def get(self, namespace, name):
        self.asked.append(("get",))
        return _answer(self.gets.pop(0) if self.gets else JobNotFound(f"no TrainingJob {name}"))

    def watch(self, namespace, name, version, seconds):
        self.asked.append(("watch", version))
        for event in _answer(self.watches.pop(0) if self.watches else []):
            yield _answer(event)

    def create(self, namespace, manifest, dry_run=False):
        self.asked.append(("create", namespace, manifest["metadata"]["name"]))
        return manifest

    def patch(self, namespace, name, patch):
        self.asked.append(("patch", name, patch))

    def scale(self, namespace, name, workers):
        self.asked.append(("scale", name, workers))

    def delete(self, namespace, name, propagation):
        self.asked.append(("delete", name, propagation))

    def apply(self, namespace, manifest, force, dry_run):
        self.asked.append(("apply", namespace, manifest["metadata"]["name"], force, dry_run))
        return manifest

    def log(self, namespace, pod, query):
        self.asked.append(("log", pod, query))
        yield _answer(self.words)

    def list(self, namespace, labels, fields):
        self.asked.append(("list", namespace, labels, fields))
        return [{"metadata": {"name": name}} for name in ("b", "a")]

    def events(self, namespace, name):
        return [{"eventTime": "2026-01-01T00:00:02Z", "reason": "Running", "message": "all", "type": "Normal"},
                {"lastTimestamp": "2026-01-01T00:00:01Z", "reason": "Resumed", "message": "on", "type": "Normal",
                 "metadata": {}}]


def _answer(answer):
    if isinstance(answer, Exception):
        raise answer
    return answer
