"""What happens in a run, as typed events: told as it happens, and kept in the run's folder.

`kinds` has the events, numbered and versioned; the rest writes and reads the file. No Prefect.
May be imported by `memory`, `blocks`, `approvals`, `tasks`, `parl`, `flows`, `evals` and `cli`.
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
