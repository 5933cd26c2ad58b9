"""`prefect-swarm resume`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from ..result import SwarmResult
from .command import AsJson
from .progress.session import run_and_report

__all__ = ["RunName", "resume"]

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its flow run's.")]


RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try the failed steps of a partial run again.")
]


def resume(run_name: RunName, retry_failed: RetryFailed = False, as_json: AsJson = False) -> int:
    """Go on with a run that was cancelled or killed; what had finished is not done again."""
    from ..runs import find_run

    objective = str(find_run(run_name).about().get("objective", run_name))
    return run_and_report(objective, lambda: _begin(run_name, retry_failed), as_json=as_json)


def _begin(run_name: str, retry_failed: bool) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.resume import resume as resume_run

    return lambda: resume_run(run_name, retry_failed=retry_failed)
