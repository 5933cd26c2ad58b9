"""What happens in a run, as typed events: told as it happens, and kept in the run's folder."""

from __future__ import annotations

from .kinds import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    EndedEvent,
    FinishedEvent,
    GateEvent,
    OtherEvent,
    PlannedEvent,
    PlannedStep,
    PlanningEvent,
    ReadyEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    WaitEvent,
)
from .line import from_line, to_line
from .log import EVENTS
from .reading import EventReader, follow_events, read_events

__all__ = [
    "EVENTS",
    "AnsweredEvent",
    "AnsweringEvent",
    "AskedEvent",
    "BeganEvent",
    "CutEvent",
    "DecisionEvent",
    "EndedEvent",
    "EventReader",
    "FinishedEvent",
    "GateEvent",
    "OtherEvent",
    "PlannedEvent",
    "PlannedStep",
    "PlanningEvent",
    "ReadyEvent",
    "RunEvent",
    "SpentEvent",
    "StartedEvent",
    "TextEvent",
    "WaitEvent",
    "follow_events",
    "from_line",
    "read_events",
    "to_line",
]
