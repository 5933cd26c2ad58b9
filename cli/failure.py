"""The one place where an exception becomes a message and an exit code."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from ..approvals.waiting import WAYS, RunWaitingError
from ..errors import SwarmError
from ..exit_codes import ExitCode
from ..host.home import no_home
from ..host.url_secrets import masked_urls
from ..result import excerpt
from ..text import one_line, visible
from .progress.terminated import Terminated

__all__ = ["FailureMessage", "failure_of", "show"]

_MOST_CHARS = 1000
"""What is shown of another's message: a server may repeat all that it was sent."""
_MOST_PROBLEM = 8000
_MOST_TRACEBACK = 20_000


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """What to tell the user, and what to tell the shell; `more` is for programs alone."""

    problem: str
    fix: str
    exit_code: ExitCode
    kind: str
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def cancelled(self) -> bool:
        """Whether someone wanted it to end, and nothing is wrong."""
        return self.exit_code in (ExitCode.CANCELLED, ExitCode.TERMINATED)

    @property
    def waiting(self) -> bool:
        """Whether a run was left until a person answers."""
        return self.exit_code is ExitCode.WAITING

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` prints in a result's place."""
        status = "cancelled" if self.cancelled else "waiting" if self.waiting else "error"
        words = {"status": status, "kind": self.kind, "problem": self.problem, "fix": self.fix}
        return {**words, **self.more}


def failure_of(error: BaseException) -> FailureMessage:
    """Say what went wrong; anything that isn't a deliberate error is an internal one."""
    kind = type(error).__name__
    if isinstance(error, Terminated):
        kind = "RunTerminatedError"
        return FailureMessage("Cancelled by SIGTERM.", "", ExitCode.TERMINATED, kind)
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return FailureMessage("Cancelled.", "", ExitCode.CANCELLED, "RunCancelledError")
    if isinstance(error, RunWaitingError):
        questions = [question.model_dump(mode="json") for question in error.questions]
        more = {"run_id": error.run_id, "questions": questions}
        return FailureMessage(error.problem, error.advice, error.exit_code, kind, more)
    error = no_home(error) or error
    if isinstance(error, SwarmError):
        problem = masked_urls(excerpt(error.problem, _MOST_PROBLEM))
        return FailureMessage(problem, error.advice, error.exit_code, kind)
    message = masked_urls(one_line(str(error), _MOST_CHARS)) or "no message"
    if kind == "SettingsError" or getattr(error, "title", "").endswith("Settings"):
        # Prefect's own settings, which it reads while it is imported.
        return FailureMessage(
            f"Prefect's settings can't be read: {message}",
            "Mend the setting that is named: a variable, or see `prefect config view`.",
            ExitCode.USAGE,
            kind,
        )
    return FailureMessage(
        f"Internal error: {kind}: {message}",
        "Run with --debug for the traceback.",
        ExitCode.FAILED,
        kind,
    )


def show(error: BaseException, failure: FailureMessage, *, debug: bool) -> None:
    """Write the message to stderr, below the traceback where that is wanted."""
    if debug:
        typer.echo(visible(masked_urls(_traceback(error))), err=True, nl=False)
    if failure.waiting:
        typer.secho(visible(failure.problem), err=True, fg="yellow")
        for way in failure.fix.split(WAYS):
            typer.echo(visible(f"  {way}"), err=True)
        return
    if failure.cancelled:
        typer.secho(visible(f"{failure.problem} {failure.fix}").rstrip(), err=True, fg="yellow")
        return
    prefix = "" if failure.problem.startswith("Internal error") else "Error: "
    typer.secho(visible(f"{prefix}{failure.problem}"), err=True, fg="red")
    if failure.fix:
        typer.echo(visible(f"  {failure.fix}"), err=True)


def _traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    if len(text) <= _MOST_TRACEBACK:
        return text
    half = _MOST_TRACEBACK // 2
    left_out = len(text) - _MOST_TRACEBACK
    return f"{text[:half]}\n… {left_out:,} characters are left out …\n{text[-half:]}"
