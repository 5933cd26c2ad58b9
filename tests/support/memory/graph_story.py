"""Episodes of two runs that fail and are repaired, for tests of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dict_log import DictLog, episode
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, GateOutcome, LogEntry
from prefect_swarm.memory.graph_rows import symptom_text
from prefect_swarm.store.attempt import Action
from prefect_swarm.store.result import Mitigation

__all__ = ["FINE", "LINT", "STORY", "SYMPTOM", "UNIT", "entries", "tried_once"]

LINT: dict[str, Any] = {
    "category": Category.CODE,
    "error": "gate lint: line 3: F821 undefined name 'x'",
    "gates": (GateOutcome(gate="lint", status="failed"),),
    "task_type": "code/python",
}
UNIT: dict[str, Any] = {
    "category": Category.LOGIC,
    "error": "gate unit: line 1: f('a') gave 'b', expected 'c'",
    "gates": (GateOutcome(gate="lint", status="passed"), GateOutcome(gate="unit", status="failed")),
    "task_type": "code/python",
}
FINE: dict[str, Any] = {
    "task_type": "code/python",
    "gates": (GateOutcome(gate="lint", status="passed"),),
}

STORY = (
    episode("r1", "S1", 1, **LINT),
    episode("r1", "S1", 2, cause="RETRY", **LINT),
    episode("r1", "S1", 3, cause="ESCALATE", tier="coder", **FINE),
    episode("r1", "S2", 1, upstream=("S1",), **UNIT),
    episode("r1", "S2", 2, upstream=("S1",), cause="RETRY", **LINT),
    episode("r1", "S2", 3, upstream=("S1",), cause="DELEGATE", persona="Engineer", **FINE),
    episode("r1", "S3", 1, upstream=("S2", "S1")),
    episode("r2", "S1", 1, namespace="theirs", **LINT),
    episode("r2", "S1", 2, namespace="theirs", cause="RETRY", **FINE),
)
SYMPTOM = symptom_text(STORY[0])


def tried_once(
    action: Action, target: str = "", *, symptom: str = SYMPTOM, worked: int = 0, recurred: int = 0
) -> Mitigation:
    """A mitigation that was tried once."""
    return Mitigation(
        symptom=symptom, action=action, target=target, tried=1, worked=worked, recurred=recurred
    )


def entries(episodes: Sequence[Episode]) -> list[LogEntry]:
    return DictLog(episodes).since(0)
