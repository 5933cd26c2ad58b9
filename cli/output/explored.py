"""What the orchestrator looked at before it planned."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ...errors import RunDamagedError
from ...result import Exploration
from ...tasks.report.calls import call_lines
from ...text import plural
from .printing import print_section, print_text

if TYPE_CHECKING:
    from ...runs import RunFolder

__all__ = ["exploration_of", "print_exploration"]


def exploration_of(run: RunFolder) -> Exploration | None:
    """Return what a run that has no result yet found before it planned; None if it didn't look."""
    with suppress(RunDamagedError, ValidationError):
        if found := run.read_json("explored.json"):
            return Exploration.model_validate(found.get("exploration"))
    return None


def print_exploration(explored: Exploration | None) -> None:
    """Print each call in a line, and the notes that the planner was shown."""
    if explored is None:
        return
    print_section(f"Looked around first, with {plural(len(explored.calls), 'call')}")
    for line in call_lines(explored.calls):
        print_text(line)
    if explored.notes:
        print_text(f"Notes for the plan:\n{explored.notes}")
    if explored.problem:
        print_text(f"It came to nothing: {explored.problem}")
