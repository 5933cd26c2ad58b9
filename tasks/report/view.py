"""A run as its pages are made from it, without secrets. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from ...measures.stretch import RunTime
from ...result import Cost, Metrics, Planning, Recall, StepResult
from ...toolsets.calling.masking import mask_written

__all__ = ["AttemptView", "RunView", "StepView", "masked"]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """What an attempt was sent and what it answered; "" where nothing is stored (any more).

    Attributes:
        number: As in the step's result.
        instructions: The system prompt.
        sent: The prompt as it was sent, with what it read and what earlier attempts had led to.
        answered: The answer as the model wrote it.
    """

    number: int
    instructions: str = ""
    sent: str = ""
    answered: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """A step now, or as it ended.

    Attributes:
        result: Its attempts with gates, decisions and calls; the status `unfinished` if it goes on.
        status: As the schedule has it: waiting, asked, ready, running, succeeded, failed, skipped,
            cancelled.
        why: What it waits for, or how it ended; "" if there is nothing to say.
        kind: What it makes: text, json, python, shell, files.
        reads: What it was given: names of inputs and steps, with the characters of each.
        output: What it made, whole or cut; None if there is nothing.
        output_chars: How long the whole is.
        files: Names of the files that it left.
    """

    result: StepResult
    upstream: tuple[str, ...]
    status: str
    why: str = ""
    kind: str = "text"
    optional: bool = False
    reads: tuple[tuple[str, int], ...] = ()
    attempts: tuple[AttemptView, ...] = ()
    output: str | None = None
    output_chars: int = 0
    files: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The step's id."""
        return self.result.id


@dataclass(frozen=True, slots=True)
class RunView:
    """A run now, or as it ended.

    Attributes:
        status: completed, partial, failed, unfinished (left), or running.
        answer: "" as long as there is none.
        metrics: None before any step ran.
        recall: What the memory knew; None without one.
        time: Where its time went; None before it has ended, or if it wasn't measured.
    """

    run_id: str
    flow_run_id: str
    objective: str
    status: str
    answer: str
    problem: str
    steps: tuple[StepView, ...]
    planning: Planning | None
    metrics: Metrics | None
    cost: Cost
    recall: Recall | None = None
    taught: tuple[str, ...] = ()
    time: RunTime | None = None
    began_at: float = 0.0
    ended_at: float | None = None


T = TypeVar("T")


def masked(data: T, secrets: Collection[str] = ()) -> T:
    """Return a view, or a part of it, with the secrets in its texts masked.

    Args:
        secrets: Values that must not be shown, such as those of the environment's keys.
    """
    return cast("T", _masked(data, partial(mask_written, secrets=secrets)))


def _masked(value: object, hide: Callable[[str], str]) -> object:
    """Return the value, or what takes its place; the same object where nothing is hidden."""
    if isinstance(value, str):
        return hide(value) if len(value) > _SHORTEST else value
    if isinstance(value, tuple | list):
        parts = cast("tuple[object, ...] | list[object]", value)
        hidden = [_masked(part, hide) for part in parts]
        same = all(new is old for new, old in zip(hidden, parts, strict=True))
        if same:
            return parts
        return tuple(hidden) if isinstance(parts, tuple) else hidden
    if isinstance(value, BaseModel):
        changed = _changes(value, list(type(value).model_fields), hide)
        return value.model_copy(update=changed) if changed else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = _changes(value, [each.name for each in fields(value)], hide)
        return replace(cast("Any", value), **changed) if changed else value
    return value


def _changes(value: object, names: list[str], hide: Callable[[str], str]) -> dict[str, object]:
    parts = {name: getattr(value, name) for name in names}
    hidden = {name: _masked(part, hide) for name, part in parts.items()}
    return {name: part for name, part in hidden.items() if part is not parts[name]}


_SHORTEST = 5  # no secret is shorter, and most texts of a run are
