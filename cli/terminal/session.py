"""The session of a long command: server, progress, signals."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import typer
from rich.console import Console

from ...errors import InputError, RunCancelledError, exit_code_of_status
from ...flows.control import AskPerson, controlled
from ...flows.prefect_io.temporary_server import Server, prefect_server
from ...store.losses import lost_of, lost_words, repeat_command
from ...store.result import RunFailedError, SwarmResult
from ...text import one_line, visible
from ..process import spinner_name
from .interruption import Interruption, interruptible
from .printing import print_json
from .screens import JsonScreen, LiveScreen, PlainScreen
from .summary import example_step, print_summary

__all__ = ["check_output", "run_and_report", "say", "showing_models", "showing_traces", "waiting"]


_MODELS, _TRACES = "prefect_swarm.models", "prefect_swarm.tracing"


class _Notes(logging.Handler):
    """Hands each line to a function."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        # An engine's thread must not end because nobody reads stderr any more.
        with suppress(OSError, ValueError):
            self._note(record.getMessage())


@contextmanager
def showing_models(note: Callable[[str], None]) -> Generator[None]:
    """Have the lines that engines log on their models noted inside.

    Args:
        note: Called from an engine's own thread.
    """
    with _showing(_MODELS, note):
        yield


@contextmanager
def showing_traces(note: Callable[[str], None]) -> Generator[None]:
    """Have it noted inside why there are no traces, or why they don't arrive.

    Args:
        note: Called from the thread that sends them.
    """
    with _showing(_TRACES, note):
        yield


@contextmanager
def _showing(name: str, note: Callable[[str], None]) -> Generator[None]:
    logger, handler = logging.getLogger(name), _Notes(note)
    level, propagate = logger.level, logger.propagate
    if not logger.isEnabledFor(logging.INFO):
        # Otherwise the root's handlers would print these lines unasked.
        logger.setLevel(logging.INFO)
        logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


_T = TypeVar("_T")


def say(text: str) -> None:
    """Write a line to stderr."""
    typer.echo(visible(text), err=True)


@contextmanager
def waiting(text: str) -> Generator[None]:
    """Show on a terminal that something takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True, markup=False, emoji=False).status(text, spinner=spinner_name()):
        yield


def check_output(*, as_json: bool, as_events: bool) -> None:
    """Raise an `InputError` where standard output is asked to be two things."""
    if as_json and as_events:
        raise InputError("--json and --stream exclude each other.", "Choose one.")


def run_and_report(
    title: str,
    start: Callable[[], Callable[[], Awaitable[SwarmResult]]],
    *,
    as_json: bool,
    as_events: bool = False,
    verbose: bool = False,
    before: Callable[[], Coroutine[Any, Any, None]] | None = None,
    after: Callable[[SwarmResult], None] | None = None,
) -> int:
    """Run a swarm, show its progress on stderr and its end on stdout.

    Args:
        title: What to call it before its own objective is known.
        start: Imports what is needed, which takes seconds, and returns what starts the run.
        as_json: Print the result as JSON and nothing else.
        as_events: Print the run's events as lines of JSON and nothing else.
        verbose: Also say at the end what the memory did.
        before: Is done once the server is there, before anything is shown.
        after: Is done with the result once it is shown.
    """
    from ...flows.preflight import check_storage

    check_storage()
    server = prefect_server(say)
    with waiting("Starting"):
        begin = start()
        server.wait()
    if before is not None:
        asyncio.run(before())
    result = asyncio.run(_watched(_screen(title, as_events=as_events), begin, server))
    if as_json:
        print_json(result)
    elif not as_events:
        link = None if server.process else _link(result)
        look_closer = result.status == "completed"
        print_summary(result, link, look_closer=look_closer, verbose=verbose)
    _say_trouble(result)
    if after is not None:
        after(result)
    return exit_code_of_status(result.status, is_whole=not result.failures)


def _screen(title: str, *, as_events: bool) -> LiveScreen | PlainScreen | JsonScreen:
    if as_events:
        return JsonScreen(title, say)
    return LiveScreen(title) if sys.stderr.isatty() else PlainScreen(title, say)


async def _watched(
    screen: LiveScreen | PlainScreen | JsonScreen,
    begin: Callable[[], Awaitable[SwarmResult]],
    server: Server,
) -> SwarmResult:
    from prefect.exceptions import CancelledRun, PausedRun, TerminationSignal

    from ...flows.approval import waiting_error

    person = _person(screen)
    with screen, showing_models(screen.note), showing_traces(screen.note):
        async with interruptible(server, screen.note, screen.handle, person) as interruption:
            with controlled(interruption.control):
                try:
                    return await begin()
                except RunFailedError as error:
                    if error.result is None:
                        raise
                    return error.result
                except PausedRun as error:
                    raise waiting_error(error) from None
                except TerminationSignal:
                    # A flow run took the signal before it was under way.
                    interruption.terminated = True
                    raise _cancelled(interruption, screen.board.run_id) from None
                except (CancelledRun, RunCancelledError, asyncio.CancelledError):
                    raise _cancelled(interruption, screen.board.run_id) from None


def _person(screen: LiveScreen | PlainScreen | JsonScreen) -> AskPerson | None:
    """Return the function that asks the person at the terminal; None without a terminal."""
    from ..approval_prompt import at_terminal, is_at_terminal

    return at_terminal(screen.paused) if is_at_terminal() else None


def _say_trouble(result: SwarmResult) -> None:
    lost = () if result.status == "failed" else lost_of(result.steps)
    if result.status == "completed":
        if lost:
            typer.secho(f"Completed, with {lost_words(lost)}.", err=True, fg="yellow")
            say(f"  To do them again: {repeat_command(result.run_id, result.status)}")
        return
    what = "Failed" if result.status == "failed" else "Partly completed"
    typer.secho(f"{what}: {one_line(result.problem, 600)}", err=True, fg="red")
    say(f"  Look closer: prefect-swarm inspect {result.run_id} --step {example_step(result)}")
    if lost:
        again = f" To do them again: {repeat_command(result.run_id, result.status)}"
        say(f"  {lost_words(lost)}.{'' if result.undone else again}")


def _cancelled(interruption: Interruption, run_id: str) -> RunCancelledError:
    fix = f"Resume with: prefect-swarm resume {run_id}" if run_id else ""
    return interruption.error("Cancelled", fix)


def _link(result: SwarmResult) -> str | None:
    from prefect.utilities.urls import url_for

    return url_for("flow-run", obj_id=result.flow_run_id)
