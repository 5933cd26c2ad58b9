"""An event as a line of JSON, and back. Pure."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

from pydantic import Discriminator, TypeAdapter, ValidationError

from .kinds import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    EndedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    OtherEvent,
    PlannedEvent,
    PlanningEvent,
    ReadyEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    ToolEvent,
    WaitEvent,
)

__all__ = ["from_line", "to_line"]

_KNOWN: TypeAdapter[RunEvent] = TypeAdapter(
    Annotated[
        AnsweredEvent
        | AnsweringEvent
        | AskedEvent
        | BeganEvent
        | CutEvent
        | DecisionEvent
        | EndedEvent
        | ExploringEvent
        | FinishedEvent
        | GateEvent
        | PlannedEvent
        | PlanningEvent
        | ReadyEvent
        | SpentEvent
        | StartedEvent
        | TextEvent
        | ToolEvent
        | WaitEvent,
        Discriminator("kind"),
    ]
)


def to_line(event: RunEvent) -> str:
    """Write an event as one line of JSON, without the line's end."""
    if isinstance(event, OtherEvent):
        return json.dumps(event.data)
    return event.model_dump_json()


def from_line(line: str | bytes) -> RunEvent | None:
    """Read an event; one of an unknown kind as an `OtherEvent`, and None from what is none.

    A line that was cut off is none.
    """
    try:
        return _KNOWN.validate_json(line)
    except ValidationError:
        pass
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _other(cast("dict[str, Any]", found)) if isinstance(found, dict) else None


def _other(found: dict[str, Any]) -> RunEvent | None:
    common = {name: found[name] for name in RunEvent.model_fields if name in found}
    try:
        return OtherEvent.model_validate({**common, "data": found})
    except ValidationError:
        return None
