"""What manifests have in common: fields that are given, and values that must be among some."""

from __future__ import annotations

from typing import Any

MAX_REPLICAS = 10000
PHASES = ("Created", "Queued", "Pending", "Running", "Restarting", "Suspended", "Succeeded", "Failed")
CONDITIONS = ("Created", "Queued", "Scheduled", "Running", "Progressing", "Restarting", "Suspended", "Stalled", "Succeeded", "Failed", "Finished")


def given(**fields: Any) -> dict:
    """Returns the fields that are not None: what is left out has the API's default."""
    return {key: value for key, value in fields.items() if value is not None}


def listed(words: list | None) -> list | None:
    """Returns a copy of the list, or None."""
    return None if words is None else list(words)


def one_of(what: str, value: Any, allowed: tuple, *, required: bool = False) -> None:
    """Raises ValueError unless the value is allowed, or None and not required."""
    if value is None and not required:
        return
    if value not in allowed:
        raise ValueError(f"unknown {what} {value!r}: write {', '.join(allowed[:-1])} or {allowed[-1]}")


def within(what: str, value: Any, least: int, most: int | None, *, required: bool = False) -> None:
    """Raises ValueError unless the value is a whole number within the bounds, or None and not required."""
    if value is None and not required:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} is {value!r}: write a whole number {bounds}")
