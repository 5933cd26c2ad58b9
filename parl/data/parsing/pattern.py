"""Patterns: what a block of a pattern file says.

kind compare_choose
with x = 2..5 pets/small_dogs
with use = home_uses
with v = Compare | Weigh up
ask {v} {x} as {use}
step a[x] = {x|title} Expert: Describe {x} as {use}
step j = Judge: {v} {x} as {use} < a
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .lists import WordList
from .template import Template

__all__ = ["Pattern", "StepPattern", "Variable"]


@dataclass(frozen=True, slots=True)
class Variable:
    """What a slot may hold.

    Attributes:
        low, high: How many entries it has; both 0 where it is one entry and no list.
        lists: The lists, one of which its entries are drawn from.
        inline: Whether the pattern itself writes the entries.
        like: The variable that it has an entry for each entry of, or "".
    """

    name: str
    low: int
    high: int
    lists: tuple[WordList, ...]
    inline: bool = False
    like: str = ""

    @property
    def plural(self) -> bool:
        """Whether it has several entries."""
        return bool(self.high or self.like)

    @property
    def root(self) -> str:
        """The variable whose place in its entries decides which entry this one shows."""
        return self.like or self.name


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step, or one step for each entry of `over`.

    Attributes:
        over: The variables it runs over, outermost first.
        chained: Whether each entry of the last variable needs the step of the one before.
        later: The prompt of a chain's steps after the first; the same prompt where not given.
        needs: Labels of the steps it needs.
    """

    label: str
    over: tuple[str, ...]
    chained: bool
    agent: Template
    prompt: Template
    later: Template
    needs: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A block of a pattern file; `text` is its lines without comments, `line` its first."""

    kind: str
    file: str
    line: int
    text: str
    variables: Mapping[str, Variable]
    asks: tuple[Template, ...]
    steps: tuple[StepPattern, ...]

    @property
    def where(self) -> str:
        """The block's place, `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def narrow(self) -> bool:
        """Whether every plan of it is one step or a pure chain."""
        before: tuple[str, ...] = ()
        for step in self.steps:
            if step.needs != before or (step.over and not (step.chained and len(step.over) == 1)):
                return False
            before = (step.label,)
        return True
