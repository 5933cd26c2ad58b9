"""Objectives with the plans that are right for them, one JSON object a line.

    {"id": "x", "kind": "chain", "objective": "Write a limerick, then put it into Greek",
     "steps": [{"key": "a", "needs": [], "must": ["limerick"]},
               {"key": "b", "needs": ["a"], "must": ["greek", "limerick"]}]}

`must` has the patterns that a step's prompt has to show, upper or lower case; the first one is the
step's item. `alternatives` are further lists of steps that are as right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self, cast

from prefect_swarm.errors import InputError
from prefect_swarm.plan.task_ir import describe
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

__all__ = ["SETS", "Expected", "Graph", "Wanted", "is_chain", "load_heldout"]

SETS = {name: Path(__file__).with_name(f"{name}.jsonl") for name in ("heldout", "fresh", "third")}
"""The hand-written sets, the file of each by its name."""

MOST_STEPS = 14


def _tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


_Texts = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_tuple)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Expected(_Strict):
    """A step that is expected: the steps whose output it reads, and what its prompt has to say."""

    key: str = Field(min_length=1)
    needs: _Texts
    must: _Texts

    @model_validator(mode="after")
    def _patterns_compile(self) -> Self:
        if not self.must:
            raise ValueError("must is empty")
        for pattern in self.must:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
        return self

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """`must`, compiled."""
        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.must)

    def says_item(self, prompt: str) -> bool:
        """Whether a prompt shows the step's item."""
        return self.patterns[0].search(prompt) is not None

    def lacks(self, prompt: str) -> list[str]:
        """Return the patterns that a prompt doesn't show."""
        return [pattern.pattern for pattern in self.patterns if not pattern.search(prompt)]


Graph = Annotated[tuple[Expected, ...], BeforeValidator(_tuple)]


class Wanted(_Strict):
    """An objective and the plans that are right for it."""

    id: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    objective: str = Field(min_length=1)
    steps: Graph
    alternatives: Annotated[tuple[Graph, ...], BeforeValidator(_tuple)] = ()

    @property
    def graphs(self) -> tuple[tuple[Expected, ...], ...]:
        """Every list of steps that is right, the foremost one first."""
        return (self.steps, *self.alternatives)

    @model_validator(mode="after")
    def _graphs_are_direct(self) -> Self:
        for graph in self.graphs:
            _check(graph)
        return self


def is_chain(needs: Sequence[frozenset[int]]) -> bool:
    """Whether steps, told by the numbers of those they need, are one step or a line of them."""
    links = [link for need in needs for link in need]
    joins = any(len(need) > 1 for need in needs)
    return not joins and len(links) == len(set(links)) == len(needs) - 1


def load_heldout(path: Path) -> list[Wanted]:
    """Read a file of objectives.

    Raises:
        InputError: The file can't be read, or a line breaks a rule; it names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The objectives {path} can't be read: {error}.", "Check it.") from None
    found: list[Wanted] = []
    for number, line in enumerate(lines, 1):
        wanted = _read(line, f"Line {number} of {path}")
        for other in found:
            if wanted.id == other.id or wanted.objective == other.objective:
                raise InputError(
                    f"Line {number} of {path} has the id or the objective of {other.id!r}.",
                    "Leave one out.",
                )
        found.append(wanted)
    return found


def _read(line: str, where: str) -> Wanted:
    try:
        return Wanted.model_validate_json(line)
    except ValidationError as error:
        problems = "; ".join(describe(error))
        raise InputError(f"{where} is not an objective: {problems}.", "Fix the line.") from None


def _check(graph: Sequence[Expected]) -> None:
    if not 1 <= len(graph) <= MOST_STEPS:
        raise ValueError(f"{len(graph)} steps are expected, not 1 to {MOST_STEPS}")
    behind: dict[str, set[str]] = {}  # all that a step needs, directly or not
    for step in graph:
        if step.key in behind:
            raise ValueError(f"step {step.key!r} is there twice")
        if unknown := set(step.needs).difference(behind):
            raise ValueError(
                f"step {step.key!r} needs {sorted(unknown)}, which is not an earlier step"
            )
        further = set[str]().union(*(behind[need] for need in step.needs))
        if twice := further.intersection(step.needs):
            raise ValueError(f"step {step.key!r} needs {sorted(twice)} through another step")
        behind[step.key] = further.union(step.needs)
