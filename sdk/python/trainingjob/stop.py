"""For the training itself: what the job asks it before it is stopped. Needs nothing but Python, and no rights."""

from __future__ import annotations

import os


def should_stop() -> str | None:
    """Returns the id of the request to save a checkpoint, as the job is to be stopped; None while nothing is asked.

    Let one rank ask, and tell the others with what they exchange anyway: the files of two pods do not change in the same moment.
    Once the checkpoint is there, answer with report(saved_for=id) and go on until SIGTERM: an exit with 0 would say that the training
    is done. Jobs without spec.progress.checkpointGraceSeconds are asked nothing.
    """
    try:
        with open(os.environ["TRAININGJOB_CHECKPOINT_REQUEST_FILE"], encoding="utf-8") as file:
            request = next(iter(file.read().split()), "")
    except (KeyError, FileNotFoundError):
        return None
    # a process that was started again in its pod may find for a moment what the one before was asked
    return request if request.startswith(os.environ.get("TRAININGJOB_ATTEMPT", "") + "-") else None
