"""The steps that are complete in a plan that is still being written. Pure."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from ...errors import PlanError
from ...task_ir import PlanRules, TaskIR
from .written import PlannedTask, Subagent, WrittenPlan

__all__ = ["PlanText", "plan_so_far"]

T = TypeVar("T", bound=BaseModel)

_ELEMENT = 2
"""How many brackets are open around an agent or a step: the plan's and the list's."""


class PlanText:
    """A plan's JSON as it grows; knows how much of it is closed.

    What stands before its first brace is skipped.
    """

    def __init__(self) -> None:
        """Begin without a text."""
        self.begin()

    def begin(self) -> None:
        """Forget what was written: another text begins."""
        self._pieces: list[str] = []
        self._length = 0
        self._closed = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def closed(self) -> str:
        """The text up to the end of the last agent or step that is complete."""
        return "".join(self._pieces)[: self._closed]

    def add(self, piece: str) -> bool:
        """Take a piece; say whether it completes an agent or a step."""
        if not self._pieces:
            _, brace, rest = piece.partition("{")
            piece = brace + rest
        if not piece:
            return False
        before = self._closed
        for place, character in enumerate(piece, self._length + 1):
            self._take(character, place)
        self._pieces.append(piece)
        self._length += len(piece)
        return self._closed > before

    def _take(self, character: str, place: int) -> None:
        if self._in_string:
            ends = character == '"' and not self._escaped
            self._escaped = character == "\\" and not self._escaped
            self._in_string = not ends
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            if character == "}" and self._depth == _ELEMENT:
                self._closed = place


def plan_so_far(written: PlanText, objective: str, rules: PlanRules | None = None) -> TaskIR | None:
    """Return the plan of the steps that are complete; None while no step is.

    Each step is what it is in the whole plan, and depends on steps that are here. A step that
    breaks a rule ends it: what comes later belongs to a plan that will be written again.
    """
    try:
        found: object = from_json(written.closed, allow_partial=True)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    fields = cast("dict[str, Any]", found)
    agents = _read(fields.get("create_subagent"), Subagent)
    tasks = _read(fields.get("assign_task"), PlannedTask)
    # What a valid plan begins with is valid: how many steps are is found by halving.
    valid, invalid = 0, len(tasks) + 1
    plan: TaskIR | None = None
    count = len(tasks)
    while count > valid:
        try:
            written_plan = WrittenPlan(create_subagent=agents, assign_task=tasks[:count])
            plan, valid = written_plan.plan(objective, rules), count
        except PlanError:
            invalid = count
        count = (valid + invalid) // 2
    return plan


def _read(listed: object, kind: type[T]) -> list[T]:
    """Return the first elements that are of a kind, up to one that isn't."""
    read: list[T] = []
    for element in cast("list[Any]", listed) if isinstance(listed, list) else []:
        try:
            read.append(kind.model_validate(element))
        except ValidationError:
            break
    return read
