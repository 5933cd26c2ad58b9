"""`prefect-swarm resume`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RunCancelledError
from ..result import SwarmResult
from .command import AsEvents, AsJson
from .options import OptionChanges
from .progress.session import check_output, run_and_report, say

if TYPE_CHECKING:
    from ..runs import RunFolder

__all__ = ["RunName", "resume", "warn_of_lost"]

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its flow run's.")]


RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try the failed steps of a partial run again.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Don't ask before what is lost is paid for again.")
]


def resume(
    run_name: RunName,
    retry_failed: RetryFailed = False,
    yes: Yes = False,
    changes: OptionChanges = OptionChanges(),  # noqa: B008 - replaced by the options given
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Go on with a run that was cancelled, killed or stopped by a bound.

    Finished steps are not done again. Options that are given take the place of the run's own.
    A run whose folder isn't here is refused; with --start-over it begins from nothing, by the
    whole id of its flow run.
    """
    from ..errors import RunNotFoundError
    from ..runs import RunFolder, find_run, is_whole_id

    check_output(as_json=as_json, as_events=stream)
    try:
        run = find_run(run_name)
    except RunNotFoundError:
        if not is_whole_id(run_name):
            raise
        # The server may know where it is.
        run = RunFolder.of(run_name.strip())
    return run_and_report(
        str(run.about().get("objective", run_name)),
        lambda: _begin(run_name, retry_failed, changes),
        as_json=as_json,
        as_events=stream,
        before=lambda: warn_of_lost(run, ask=not yes),
    )


def _begin(
    run_name: str, retry_failed: bool, changes: OptionChanges
) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.resume import resume as resume_run

    return lambda: resume_run(run_name, retry_failed=retry_failed, changes=changes)


async def warn_of_lost(run: RunFolder, *, ask: bool) -> None:
    """Say what is paid for again since its result is gone; ask first where somebody can answer.

    Raises:
        RunCancelledError: They don't want it.
    """
    from ..flows.stored.ledger import paid_again

    if not (lost := await paid_again(run)):
        return
    say(
        f"The results of {', '.join(lost)} are damaged or gone, here and among Prefect's results. "
        "They are asked for, and paid for, again."
    )
    if ask and sys.stdin.isatty() and not typer.confirm("Go on?", err=True):
        raise RunCancelledError("Nothing was done.", "What is there is as it was.")
