"""What can go wrong. Wrong arguments are ValueErrors, time that ran out is a TimeoutError; both are Python's own."""

from __future__ import annotations

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
    last_failure (dict | None): status.lastFailure: role, index, attempt, cause, pod, node, exitCode, ...
    """

    def __init__(self, reason: str, message: str, last_failure: dict | None = None):
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.last_failure = last_failure
