"""What can go wrong. Wrong arguments are ValueErrors, time that ran out is a TimeoutError; both are Python's own."""

from __future__ import annotations

from .types import Failure, Incident

NO_ANSWER = 0
GONE = 410  # what a watch wanted to resume from is no longer kept


class TrainingJobError(Exception):
    """Any error below."""


class ApiError(TrainingJobError):
    """The API server refused, or did not answer.

    status (int): the HTTP status; 0 if there was no answer.
    message (str): the server's own sentence; for an invalid job it says what to write instead.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def passing(self) -> bool:
        """Whether the same question may be answered a little later."""
        return self.status in (NO_ANSWER, GONE, 429) or self.status >= 500


class JobNotFound(ApiError):
    """There is no such job in the namespace, or no longer."""

    def __init__(self, message: str):
        super().__init__(404, message)


class JobFailed(TrainingJobError):
    """The job has failed.

    reason (str): one word, such as FatalExit, MaxRestartsExceeded or DeadlineExceeded.
    message (str): one sentence.
    last_failure (Failure | None): status.lastFailure: role, index, attempt, cause, pod, node, exitCode, ...
    replica (str | None): which replica broke last, such as worker-3.
    exit_code (int | None): what it exited with.
    last_words (str): what it said last: its termination message, or else the end of its log where that can be read.
    """

    def __init__(self, reason: str, message: str, last_failure: Failure | None = None, last_words: str = ""):
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.last_failure = last_failure
        self.replica: str | None = replica_of(last_failure) if last_failure else None
        self.exit_code: int | None = last_failure.get("exitCode") if last_failure else None
        self.last_words: str = last_words or (last_failure.get("message", "") if last_failure else "")


def replica_of(failure: Failure | Incident) -> str:
    """Returns the name of the replica that a failure or an incident is of, such as worker-3."""
    return f"{failure['role'].lower()}-{failure['index']}"
