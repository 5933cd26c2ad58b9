"""Plans as strong models write them, kept as files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["RecordedPlan", "RecordedProgram", "recorded_plans", "recorded_programs"]

_PLANNER = Path(__file__).parents[1] / "tasks" / "planner"


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
    return [_read(path) for path in sorted((_PLANNER / "recorded").glob("*.json"))]


def _read(path: Path) -> RecordedPlan:
    held = json.loads(path.read_text("utf-8"))
    return RecordedPlan(path.stem, held["objective"], held["plan"], held.get("answers", {}))


@dataclass(frozen=True)
class RecordedProgram:
    """A plan that depends on what is found, and what it is for.

    Attributes:
        plan: The arguments of the call that the model wrote.
        inputs: Names of the inputs that are given with the objective.
        problem: What is wrong with the plan, in a few words; "" if it is taken at once.
        repair: The arguments of the call that the model wrote when it was shown that.
    """

    name: str
    objective: str
    plan: dict[str, Any]
    inputs: tuple[str, ...] = ()
    problem: str = ""
    repair: dict[str, Any] = field(default_factory=dict[str, Any])


def recorded_programs() -> list[RecordedProgram]:
    """Read all plans that depend on what is found, in the order of their names."""
    paths = sorted((_PLANNER / "recorded_programs").glob("*.json"))
    return [_read_program(path) for path in paths]


def _read_program(path: Path) -> RecordedProgram:
    held = json.loads(path.read_text("utf-8"))
    held["inputs"] = tuple(held.get("inputs", ()))
    return RecordedProgram(path.stem, **held)
