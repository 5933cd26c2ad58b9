"""The steps that are complete in a plan that is still being written. Pure."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from ...errors import PlanError
from ...models.answers.lenient_json import JsonProblem, read_json
from ...models.answers.shapes import normal_name
from ...plan.task_ir import PlanRules, TaskIR
from ...text import without_surrogates
from .planned import PlannedTask, Subagent, WrittenPlan, whole_plan_schema
from .written import plan_data

__all__ = ["PlanText", "plan_so_far"]

T = TypeVar("T", bound=BaseModel)

_LISTS = frozenset(map(normal_name, ("create_subagent", "assign_task")))
_LONGEST_NAME = 40


class PlanText:
    """A plan's JSON as it grows; knows how much of it is closed.

    What stands before the object that has a plan's lists is skipped, such as reasoning or a fence,
    and so is what an object was wrapped in.
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
        self._name: list[str] = []
        self._element = 0
        """How many brackets are open around an agent or a step; 0 until a list has begun."""

    @property
    def closed(self) -> str:
        """The text up to the end of the last agent or step that is complete."""
        return "".join(self._pieces)[: self._closed]

    def add(self, piece: str) -> bool:
        """Take a piece; say whether it completes an agent or a step."""
        before = self._closed
        start = 0
        for place, character in enumerate(piece, 1):
            if not self._depth and not self._element:
                # Between objects: none that came before was the plan.
                if character != "{":
                    continue
                self._pieces, self._length, start = [], 0, place - 1
                before = self._closed = 0
            self._take(character, self._length + place - start)
        if self._depth or self._element:
            self._pieces.append(piece[start:])
            self._length += len(piece) - start
        return self._closed > before

    def _take(self, character: str, place: int) -> None:
        if self._in_string:
            ends = character == '"' and not self._escaped
            self._escaped = character == "\\" and not self._escaped
            self._in_string = not ends
            if ends:
                self._note_name()
            elif not self._element and len(self._name) < _LONGEST_NAME:
                self._name.append(character)
        elif character == '"':
            self._in_string = True
            self._name = []
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            if character == "}" and self._element and self._depth == self._element:
                self._closed = place

    def _note_name(self) -> None:
        """Know by the name of a plan's list how deep in brackets its elements are."""
        if not self._element and normal_name("".join(self._name)) in _LISTS:
            self._element = self._depth + 1


def plan_so_far(written: PlanText, objective: str, rules: PlanRules | None = None) -> TaskIR | None:
    """Return the plan of the steps that are complete; None while no step is.

    Each step is what it is in the whole plan, and depends on steps that are here. A step that
    breaks a rule ends it: what comes later belongs to a plan that will be written again.
    """
    found = _data(written.closed)
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


def _data(closed: str) -> object:
    """Return what a text says so far, in the form of a plan; None if it can't be read."""
    try:
        found: object = from_json(closed, allow_partial=True)
    except ValueError:
        try:
            found = read_json(closed).value
        except JsonProblem:
            return None
    return plan_data(without_surrogates(found), whole_plan_schema()).value


def _read(listed: object, kind: type[T]) -> list[T]:
    """Return the first elements that are of a kind, up to one that isn't."""
    read: list[T] = []
    for element in cast("list[Any]", listed) if isinstance(listed, list) else []:
        try:
            read.append(kind.model_validate(element))
        except ValidationError:
            break
    return read
