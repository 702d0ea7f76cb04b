"""Why a job is as it is, and what it has been through: from its status, its pods and its Events."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Dict, Iterator, List, NamedTuple

from . import pods
from .errors import replica_of
from .types import Failure, Incident, TrainingJob

PHRASES = {"Created": "has no pods yet", "Queued": "waits in its queue", "Pending": "does not run yet", "Running": "runs",
           "Restarting": "restarts", "Suspended": "is suspended", "Succeeded": "has succeeded", "Failed": "has failed"}
MOST_WARNINGS = 3


class Why(NamedTuple):
    """Why a job is as it is. str() of it is a text of several lines."""

    sentence: str
    facts: List[str]

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  - {fact}" for fact in self.facts)])


class Attempt(NamedTuple):
    """One attempt of a job; start and end are times as the API writes them, end is None while it goes on.

    incidents: what broke in it, oldest first; the last has ended it unless it is the present one.
    """

    number: int
    start: str | None
    end: str | None
    incidents: List[Incident]


class Timeline(NamedTuple):
    """What a job has been through, as far as its status tells: it keeps the last ten incidents. str() of it is a text."""

    name: str
    phase: str
    attempts: List[Attempt]
    lost_seconds: Dict[str, int]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.phase}"]
        for attempt in self.attempts:
            lines.append(f"attempt {attempt.number}: {attempt.start or 'not known'} to {attempt.end or 'now'}")
            lines += [f"  {incident['time']} {what_broke(incident)}: {_answer(incident)}" for incident in attempt.incidents]
        lost = ", ".join(f"{seconds}s {what}" for what, seconds in sorted(self.lost_seconds.items()) if seconds)
        return "\n".join(lines + ([f"lost: {lost}"] if lost else []))


def why(job: TrainingJob, found: List[pods.Pod], events: List[Dict[str, str]]) -> Why:
    """Returns why the job is as it is."""
    return Why(_sentence(job), [*_failure(job), *_waiting(job, found), *_limits(job), *_warnings(job, events)])


def timeline(job: TrainingJob) -> Timeline:
    """Returns what the job has been through."""
    status = job.get("status", {})
    start, attempts, within = status.get("startTime"), [], []
    first = 0
    for incident in reversed(status.get("incidents", [])):
        within.append(incident)
        if incident.get("scope") == "Job":
            number = incident.get("attempt", 0)
            attempts.append(Attempt(number, start if number == first else None, incident["time"], within))
            start, first, within = incident.get("restartTime"), number + 1, []
    number = status.get("attempt", 0)
    attempts.append(Attempt(number, start if number == first else None, status.get("completionTime"), within))
    lost: Any = status.get("lostSeconds", {})
    return Timeline(job["metadata"]["name"], status.get("phase", "Created"), attempts, dict(lost))


def what_broke(failure: Failure | Incident) -> str:
    """Returns a failure as a clause: worker-3 on gpu-7 broke (exit code 137, OOMKilled, cause OOM). A requested restart is no failure."""
    if failure.get("cause") == "Requested":
        replica = f" of {replica_of(failure)}" if failure.get("pod") else ""
        return f"a user requested a restart{replica} ({failure.get('message', '')})"
    code = f"exit code {failure['exitCode']}" if "exitCode" in failure else ""
    details = ", ".join(filter(None, [code, failure.get("reason", ""), f"cause {failure['cause']}" if "cause" in failure else ""]))
    node = f" on {failure.get('node')}" if failure.get("node") else ""
    return f"{replica_of(failure)}{node} broke ({details})"


def _sentence(job: TrainingJob) -> str:
    name, status = job["metadata"]["name"], job.get("status", {})
    if "deletionTimestamp" in job["metadata"]:
        return f"{name} is being deleted."
    other = job["spec"].get("managedBy")
    if other:
        return f"{name} is run by {other} (spec.managedBy), not by this operator."
    phase = status.get("phase")
    if not phase:
        return f"{name} was created, and the operator has not looked at it yet."
    message = f": {status.get('message')}" if status.get("message") else "."
    return f"{name} {PHRASES.get(phase, 'is ' + phase)} ({status.get('reason', '')}){message}"


def _answer(incident: Incident) -> str:
    charged = "charged to a budget" if incident.get("charged") else "not charged"
    scope = incident.get("scope")
    if scope == "Job":
        return f"the whole job restarted, {charged}"
    return (f"role {incident['role']} was replaced, " if scope == "Role" else "this replica was replaced, ") + charged


def _failure(job: TrainingJob) -> Iterator[str]:
    failure = job.get("status", {}).get("lastFailure")
    if failure:
        yield f"Last failure: {what_broke(failure)}, in attempt {failure.get('attempt', 0)}, at {failure.get('time')}."
        if message := failure.get("message"):
            yield f"Last words: {message.splitlines()[0]!r}"


def _waiting(job: TrainingJob, found: List[pods.Pod]) -> Iterator[str]:
    """Tells each reason to wait once, the most frequent first."""
    if job.get("status", {}).get("completionTime"):
        return
    reasons: Dict[str, List[str]] = {}
    for pod in found:
        if pods.waiting(pod):
            reasons.setdefault(pods.waiting(pod), []).append(pods.replica(pod))
    for reason, who in sorted(reasons.items(), key=lambda pair: -len(pair[1]))[:5]:
        yield f"{who[0]}{f' and {len(who) - 1} more' if len(who) > 1 else ''}: {reason}"


def _limits(job: TrainingJob) -> Iterator[str]:
    status = job.get("status", {})
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # as the API writes times, which sort by their text
    if status.get("nextStartTime", "") > now and not status.get("completionTime"):
        yield f"Back-off: the next attempt begins at {status.get('nextStartTime')}."
    latest = next(iter(status.get("incidents", [])), None)
    if latest and latest.get("cause") == "Requested":
        yield f"At {latest.get('time')} {what_broke(latest)}: {_answer(latest)}."
    for budget in status.get("budgets", []):
        yield f"Budget {budget['name']}: {budget.get('used', 0)} of {budget.get('limit')} used."
    if status.get("restarts"):
        yield f"Restarts so far: {status.get('restarts')}, of which {status.get('chargedRestarts', 0)} are charged."
    for node in status.get("avoidedNodes", []):
        yield f"New pods avoid {node['name']} until {node.get('expirationTime')} ({node.get('reason')})."


def _warnings(job: TrainingJob, events: List[Dict[str, str]]) -> Iterator[str]:
    said = job.get("status", {}).get("message")
    warnings = [event for event in events if event["type"] == "Warning" and event["message"] != said]
    for event in reversed(warnings[-MOST_WARNINGS:]):
        yield f"Event {event['reason']} at {event['time']}: {event['message']}"
