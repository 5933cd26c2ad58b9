"""The one place where an exception becomes a message and an exit code."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import Any

import typer

from ..errors import RunCancelledError, RunTerminatedError, SwarmError
from ..text import clean
from .progress.terminated import Terminated

__all__ = ["CANCELLED", "TERMINATED", "FailureMessage", "failure_of", "show"]

CANCELLED = RunCancelledError.exit_code
"""The exit code of what SIGINT ended, as shells have it."""
TERMINATED = RunTerminatedError.exit_code
"""The exit code of what SIGTERM ended."""


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """What to tell the user, and what to tell the shell."""

    problem: str
    fix: str
    exit_code: int
    kind: str

    @property
    def cancelled(self) -> bool:
        """Whether someone wanted it to end, and nothing is wrong."""
        return self.exit_code in (CANCELLED, TERMINATED)

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` prints in a result's place."""
        status = "cancelled" if self.cancelled else "error"
        return {"status": status, "kind": self.kind, "problem": self.problem, "fix": self.fix}


def failure_of(error: BaseException) -> FailureMessage:
    """Say what went wrong; anything that isn't a deliberate error is an internal one."""
    kind = type(error).__name__
    if isinstance(error, Terminated):
        return FailureMessage("Cancelled by SIGTERM.", "", TERMINATED, "RunTerminatedError")
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return FailureMessage("Cancelled.", "", CANCELLED, "RunCancelledError")
    if isinstance(error, SwarmError):
        return FailureMessage(error.problem, error.fix, error.exit_code, kind)
    message = " ".join(str(error).split()) or "no message"
    return FailureMessage(
        f"Internal error: {kind}: {message}", "Run with --debug for the traceback.", 1, kind
    )


def show(error: BaseException, failure: FailureMessage, *, debug: bool) -> None:
    """Write the message to stderr, below the traceback where that is wanted."""
    if debug:
        typer.echo(clean("".join(traceback.format_exception(error))), err=True, nl=False)
    if failure.cancelled:
        typer.secho(clean(f"{failure.problem} {failure.fix}").rstrip(), err=True, fg="yellow")
        return
    prefix = "" if failure.problem.startswith("Internal error") else "Error: "
    typer.secho(clean(f"{prefix}{failure.problem}"), err=True, fg="red")
    if failure.fix:
        typer.echo(clean(f"  {failure.fix}"), err=True)
