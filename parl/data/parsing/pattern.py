"""Data classes for a pattern, the contents of a block in a pattern file.

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
    """The possible values of a slot.

    Attributes:
        low, high: The least and the most entries; both 0 for a single entry.
        lists: Its entries are drawn from one of these lists.
        inline: Whether the entries are written in the pattern itself.
        paired_with: The variable whose every entry has an entry of this one, or "".
    """

    name: str
    low: int
    high: int
    lists: tuple[WordList, ...]
    inline: bool = False
    paired_with: str = ""

    @property
    def is_plural(self) -> bool:
        """Whether it may have several entries."""
        return bool(self.high or self.paired_with)

    @property
    def root(self) -> str:
        """The variable whose index selects the entry that is shown."""
        return self.paired_with or self.name


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step, or one step for each entry of `loop_variables`.

    Attributes:
        loop_variables: The variables it is repeated for, outermost first.
        is_chain: Whether each step needs the step of the last variable's previous entry.
        later_prompt: The prompt of a chain's steps after the first; `prompt` if not given.
        needs: Labels of the steps it needs.
    """

    label: str
    loop_variables: tuple[str, ...]
    is_chain: bool
    agent: Template
    prompt: Template
    later_prompt: Template
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
    def location(self) -> str:
        """The block's location, `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def is_narrow(self) -> bool:
        """Whether its plans are always a single step or a pure chain."""
        before: tuple[str, ...] = ()
        for step in self.steps:
            loops = step.loop_variables
            if step.needs != before or (loops and not (step.is_chain and len(loops) == 1)):
                return False
            before = (step.label,)
        return True
