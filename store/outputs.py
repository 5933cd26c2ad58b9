"""The outputs of a finished run: each as a text or a value, by their type, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import Category, InputError, RunNotFoundError
from ..files import HOME_VARIABLE
from ..plan.ids import parse_id
from ..plan.made import Made, is_instance, made_by
from ..text import one_line
from ..untrusted.json_text import NoJsonError, describe, read_json
from .attempt import is_excerpt_whole
from .item_table import ItemTable
from .layout import parse_output_ref
from .losses import lost_of
from .runs import open_run
from .step import StepState

if TYPE_CHECKING:
    from .result import SwarmResult

__all__ = [
    "NoStepError",
    "StepFailure",
    "StepResult",
    "answer_as",
    "failures_of",
    "outputs_of",
    "read_output",
    "results_of",
    "table_of",
]

T = TypeVar("T")
_NAMED = 12
_PROBLEMS = 5


class NoStepError(InputError, KeyError):
    """A run has no step or member of that id."""


def read_output(output_ref: str) -> str:
    """Return the whole output that a step's `output_ref` names.

    A reference is `RUN/outputs/STEP.txt`. It is looked up below `runs` in the data folder
    (`PREFECT_INTEGRATIONS_SWARM_HOME`), which is on the machine that executed the run.

    Raises:
        InputError: It is no such reference.
        RunNotFoundError: There is no such output here.
        RunDamagedError: It can't be read.
    """
    if (found := parse_output_ref(output_ref)) is None:
        raise InputError(
            f"{one_line(output_ref, 100)!r} is no reference to an output.",
            "Give a step's output_ref, such as RUN/outputs/S1.txt.",
        )
    run, step = found
    store = open_run(run)
    if (text := store.output(step)) is None:
        raise RunNotFoundError(
            f"The output of {step} of run {run} is not in {store.place('output', step)}.",
            f"Read it on the machine that executed the run, or set {HOME_VARIABLE} to its data "
            "folder.",
        )
    return text


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step, an instance, a round or an inner step ended, and what it made.

    Attributes:
        state: All that the run stored of it: attempts with gates and decisions, and why it failed.
        made: text, json, python, shell, files, or table (CSV).
        members: Its instances, rounds or inner steps, in their order.
    """

    state: StepState
    made: Made = "text"
    members: tuple[StepResult, ...] = ()

    @property
    def id(self) -> str:
        """Its id, such as S2 or S2[7]."""
        return self.state.id

    @property
    def item(self) -> str:
        """The item that it was done for, in a few words; "" if for none."""
        return self.state.label

    @property
    def status(self) -> str:
        """`succeeded`, `failed`, `skipped` or `cancelled`."""
        return self.state.status

    @property
    def problem(self) -> str:
        """Why it is not `succeeded`; "" if it is."""
        return self.state.reason

    @property
    def text(self) -> str | None:
        """Its whole output as a text, read from the run's folder; None if it made none.

        Raises:
            RunNotFoundError: The folder is not here, and the result has the beginning alone.
        """
        state = self.state
        if state.status != "succeeded" or state.output_ref is None:
            return None
        try:
            return read_output(state.output_ref)
        except RunNotFoundError:
            if not is_excerpt_whole(state.excerpt):
                raise
            return state.excerpt

    @property
    def output(self) -> Any:
        """Its whole output: a value where it made JSON, else a text; None if it made none.

        Raises:
            RunNotFoundError: The folder is not here, and the result has the beginning alone.
        """
        return None if (text := self.text) is None else _value(text, self.made)

    def output_as(self, kind: type[T]) -> T:
        """Return its output as a type that pydantic knows.

        Raises:
            InputError: It made none.
            ValidationError: It is of another type.
        """
        if (text := self.text) is None:
            raise InputError(f"{self.id} made no output: {self.problem or self.status}.")
        return _read_as(TypeAdapter(kind), text, self.made)


def results_of(result: SwarmResult) -> dict[str, StepResult]:
    """Return all steps of a result by their ids, in the result's order."""
    children: dict[str, list[StepState]] = {}
    for state in result.steps:
        children.setdefault(state.parent, []).append(state)
    lists = {state.parent for state in result.steps if is_instance(state.id)}
    found: dict[str, StepResult] = {}

    def add(state: StepState) -> StepResult:
        # A member's id is longer than that of what it is within; in a forged result it may not be.
        within = (each for each in children.get(state.id, ()) if len(each.id) > len(state.id))
        members = tuple(add(child) for child in within)
        made = made_by(result.plan.steps, state.id, lists)
        found[state.id] = StepResult(state, made, members)
        return found[state.id]

    for state in children.get("", ()):
        add(state)
    return {state.id: found[state.id] for state in result.steps if state.id in found}


def _value(text: str, made: Made) -> Any:
    if made == "json":
        # Nothing checks the JSON of a step without gates.
        with suppress(NoJsonError):
            return read_json(text)
    return text


def _read_as(adapter: TypeAdapter[T], text: str, made: Made) -> T:
    return adapter.validate_json(text) if made == "json" else adapter.validate_python(text)


def answer_as(result: SwarmResult, kind: type[T]) -> T:
    """Return a result's answer as a type that pydantic knows.

    Raises:
        InputError: There is none, or it is not JSON of that type.
    """
    if not result.answer.strip():
        why = f": {result.problem}" if result.problem else "."
        raise InputError(f"Run {result.run_id} is {result.status} and has no answer{why}")
    try:
        return TypeAdapter(kind).validate_json(result.answer)
    except ValidationError as error:
        found = describe(error)
        more = [f"and {len(found) - _PROBLEMS:,} more"] if len(found) > _PROBLEMS else []
        problems = "; ".join([*(one_line(each, 200) for each in found[:_PROBLEMS]), *more])
        name = getattr(kind, "__name__", str(kind))
        raise InputError(
            f"The answer of run {result.run_id}, {one_line(result.answer, 60)!r}, is not JSON of "
            f"the type {name}: {problems}.",
            "Have the run answer so: give it the type's JSON Schema as its option answer_schema.",
        ) from None


def outputs_of(result: SwarmResult, kind: type[T]) -> tuple[T, ...]:
    """Return the outputs of a result that are of a type.

    Of a step that was done in rounds the last one counts, and an output that a step has from one of
    its members counts once.
    """
    adapter = TypeAdapter(kind)
    steps = results_of(result)
    names = [name for name in steps if not any(level.round for level in parse_id(name))]
    texts = {name: steps[name].text for name in names}
    found: list[T] = []
    for name, text in texts.items():
        step = steps[name]
        above = steps.get(step.state.parent)
        if text is None or (above and above.made == step.made and texts.get(above.id) == text):
            continue
        try:
            found.append(_read_as(adapter, text, step.made))
        except ValidationError:
            continue
    return tuple(found)


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step or an item that a run has no output of.

    Attributes:
        step: Its id.
        item: The item that it was done for, in a few words; "" if for none.
        category: What kind of failure it was.
        reason: What went wrong in the end.
        attempts: How often it was tried.
    """

    step: str
    item: str
    category: Category | None
    reason: str
    attempts: int


def failures_of(steps: Sequence[StepState]) -> tuple[StepFailure, ...]:
    """Return what failed; what was skipped since it needed one of these isn't named again."""
    return tuple(
        StepFailure(each.id, each.label, each.category, each.reason, len(each.attempts))
        for each in lost_of(steps)
    )


def table_of(result: SwarmResult, step: str = "") -> ItemTable:
    """Return the outputs of a step's instances as a table.

    Args:
        result: A finished run.
        step: The step's id; "" is the only one that is done for items. Where no step is, the rows
            are the steps of the plan.

    Raises:
        InputError: Several steps are done for items, and none is named.
        NoStepError: There is no such step.
    """
    steps = results_of(result)
    name = step.strip() or _only_list(result)
    if name and name not in steps:
        raise no_step(result, name)
    chosen = _instances(steps[name]) if name else [s for s in steps.values() if not s.state.parent]
    if name and not chosen and not is_instance(name):
        chosen = [steps[name]]
    made = [row for each in chosen for row in _rows(each)]
    fields = [*dict.fromkeys(key for _, row, _ in made for key in row)]
    own, item, problem = (_free(word, fields) for word in ("step", "item", "problem"))
    rows = tuple(
        {own: each.id, item: each.item or each.id, **row, **({problem: why} if why else {})}
        for each, row, why in made
    )
    return ItemTable((own, item, *fields, problem), rows)


def _only_list(result: SwarmResult) -> str:
    lists = [step.id for step in result.plan.steps if step.for_each is not None]
    if len(lists) > 1:
        raise InputError(
            f"Run {result.run_id} has {len(lists)} steps that are done for items.",
            f"Name one: table({lists[0]!r}); there are {', '.join(lists)}.",
        )
    return lists[0] if lists else ""


def _instances(step: StepResult) -> list[StepResult]:
    """Return the instances of a step; where an item brought a list, those of its elements."""
    found: list[StepResult] = []
    for each in step.members:
        if is_instance(each.id) and not each.state.by_condition:
            found += _instances(each) or [each]
    return found


def _rows(step: StepResult) -> list[tuple[StepResult, dict[str, Any], str]]:
    if (text := step.text) is None:
        return [(step, {}, step.problem or step.status)]
    output = _value(text, step.made)
    values = cast("list[Any]", output) if isinstance(output, list) else [output]
    return [(step, value if isinstance(value, dict) else {"text": value}, "") for value in values]


def _free(word: str, taken: Sequence[str]) -> str:
    while word in taken:
        word += "_"
    return word


def no_step(result: SwarmResult, name: str) -> NoStepError:
    """Return the error for an id that no step of a result has."""
    names = [step.id for step in result.steps]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return NoStepError(
        f"Run {result.run_id} has no step {one_line(name, 40)!r}.",
        f"There are {', '.join(names[:_NAMED])}{more}.",
    )
