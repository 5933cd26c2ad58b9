"""A run's events as `inspect` shows them: a line each, or JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable

from ...events.kinds import (
    AnsweredEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    EndedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    PlannedEvent,
    PlanningEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    ToolEvent,
    WaitEvent,
)
from ...events.log import to_line
from ...text import dollars, escaped, one_line, plural, visible

__all__ = ["event_line", "print_events"]

_CHARS = 300


def event_line(event: RunEvent, began_at: float) -> str:
    """Write an event: its number, seconds since `began_at`, what it is about, and what it is."""
    attempt = f" · attempt {event.attempt}" if event.attempt else ""
    head = f"{event.number:>6}  {event.at - began_at:8.1f} s  {event.step or 'run'}{attempt}"
    words = one_line(_words(event), _CHARS)
    return f"{head}: {event.kind}{f' · {words}' if words else ''}"


def _words(event: RunEvent) -> str:
    match event:
        case TextEvent():
            return event.text
        case WaitEvent():
            return event.words
        case StartedEvent():
            return event.tier
        case GateEvent():
            return f"{event.gate} {event.status}{f': {event.found}' if event.found else ''}"
        case ToolEvent():
            return _call(event)
        case DecisionEvent():
            return f"{event.action}: {event.reason}"
        case EndedEvent():
            return event.reason
        case AskedEvent():
            return event.title
        case AnsweredEvent():
            return f"{event.question} {event.verdict}{f': {event.why}' if event.why else ''}"
        case _:
            return _words_of_run(event)


def _call(event: ToolEvent) -> str:
    call = f"{event.ordinal}. {event.tool}({event.arguments})"
    if event.outcome == "started":
        return call
    took = f" after {event.seconds:.1f} s" if event.seconds else ""
    return f"{call} {event.outcome}{took}: {event.result}"


def _words_of_run(event: RunEvent) -> str:
    match event:
        case BeganEvent():
            return "once more" if event.resumed else ""
        case ExploringEvent():
            return f"{event.model}, at most {plural(event.calls, 'call')}"
        case PlanningEvent():
            return event.model
        case PlannedEvent():
            return plural(len(event.steps), "step")
        case SpentEvent():
            return f"{plural(event.tokens, 'token')} so far{_money(event.cost_usd)}"
        case FinishedEvent():
            return f"{event.status}{f': {event.problem}' if event.problem else ''}"
        case CutEvent():
            return "texts are left out from here" if event.what == "text" else "left out from here"
        case _:
            return ""


def _money(usd: float | None) -> str:
    return "" if usd is None else f", {dollars(usd)}"


def print_events(
    events: Callable[[], AsyncGenerator[RunEvent]], *, began_at: float | None, as_json: bool
) -> None:
    """Print events as they come.

    Args:
        events: Begins to read them.
        began_at: When the run began, in seconds since the epoch; None if nobody knows.
        as_json: Print them as they are kept, a line of JSON each.
    """
    asyncio.run(_print(events(), began_at, as_json=as_json))


async def _print(
    events: AsyncGenerator[RunEvent], began_at: float | None, *, as_json: bool
) -> None:
    async for event in events:
        began_at = event.at if began_at is None else began_at
        line = escaped(to_line(event)) if as_json else visible(event_line(event, began_at))
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
