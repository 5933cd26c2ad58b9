"""What a step waits for, or how it ended, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ..events import UNFINISHED, StepStatus

__all__ = ["why_of"]

_SHOWN = 8


def why_of(
    upstream: tuple[str, ...],
    statuses: Mapping[str, StepStatus],
    status: StepStatus,
    reason: str,
) -> str:
    """Say what a step waits for, or how it ended; "" if there is nothing to say.

    Args:
        upstream: The steps that it needs.
        statuses: How far the steps are.
        status: How far it is itself.
        reason: Why it failed or was skipped; or who had it done.
    """
    if status == "waiting":
        missing = [name for name in upstream if statuses.get(name) in UNFINISHED]
        more = " …" if len(missing) > _SHOWN else ""
        return f"waits for {', '.join(missing[:_SHOWN])}{more}"
    if status == "asked":
        return f"waits for a person{f'; {reason}' if reason else ''}"
    if status == "ready":
        return f"waits for a free slot{f'; {reason}' if reason else ''}"
    return reason
