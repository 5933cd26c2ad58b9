"""What happens in a run, as typed events: told as it happens, and kept in the run's folder.

`kinds` has the events, numbered and versioned; the rest writes and reads the file. No Prefect.
"""

from __future__ import annotations

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
    PlannedStep,
    PlanningEvent,
    ReadyEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    ToolEvent,
    WaitEvent,
)
from .log import EVENTS, EventReader, follow_events, from_line, read_events, to_line

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
    "ExploringEvent",
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
    "ToolEvent",
    "WaitEvent",
    "follow_events",
    "from_line",
    "read_events",
    "to_line",
]
