"""What becomes of a job when its step is terminated: Argo and Pipelines send SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import Any, Iterator

from ..client import Client
from ..errors import ApiError, JobNotFound

ON_TERMINATION = ("suspend", "delete", "keep")
TERMINATION_SECONDS = 20  # of the 30 that Kubernetes and Argo give a container by default
PAUSE_SECONDS = 1.0


class Terminated(BaseException):
    """The run of the pipeline was terminated: not an error that a retry could mend."""


def hold() -> None:
    """Holds a SIGTERM back until ending() handles it: otherwise the job of an earlier try would go on without a step."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


@contextlib.contextmanager
def ending(client: Client, name: str, on_termination: str, out: Any) -> Iterator[None]:
    """Suspends, deletes or keeps the job when SIGTERM comes, and raises Terminated."""
    def stop(*_: Any) -> None:
        raise Terminated
    before = signal.signal(signal.SIGTERM, stop)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        yield
    except Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not keep the job running
        out(f"The run was terminated: TrainingJob {name}: {on_termination}")
        end(client, name, on_termination)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def end(client: Client, name: str, on_termination: str) -> None:
    """Suspends, deletes or keeps the job. If the API server is away, it tries again while the step may live."""
    last = time.monotonic() + TERMINATION_SECONDS
    while True:
        try:
            if on_termination == "suspend":
                client.suspend(name)
            elif on_termination == "delete":
                client.delete(name)
            return
        except JobNotFound:
            return
        except ApiError as error:
            if not error.passing or time.monotonic() > last:
                raise
        time.sleep(PAUSE_SECONDS)
