"""Plans as strong models write them, kept as files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RecordedPlan", "recorded_plans"]

_FOLDER = Path(__file__).parents[1] / "tasks" / "planner" / "recorded"


@dataclass(frozen=True)
class RecordedPlan:
    """A plan and what it is for.

    Attributes:
        name: What it is about.
        plan: The arguments of the call that the model wrote.
        answers: What a scripted subagent has to answer for steps, by their ids, so that their
            gates pass; any text will do for the others.
    """

    name: str
    objective: str
    plan: dict[str, Any]
    answers: dict[str, str]


def recorded_plans() -> list[RecordedPlan]:
    """Read all plans, in the order of their names."""
    return [_read(path) for path in sorted(_FOLDER.glob("*.json"))]


def _read(path: Path) -> RecordedPlan:
    held = json.loads(path.read_text("utf-8"))
    return RecordedPlan(path.stem, held["objective"], held["plan"], held.get("answers", {}))
