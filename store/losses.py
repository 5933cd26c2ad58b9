"""What a run has no output of, although it was asked for: steps and items. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from ..errors import Category
from ..plan.made import is_instance
from ..text import plural

__all__ = ["MayBeLost", "lost_of", "lost_words", "missing_words", "repeat_command"]

_SHOWN = 12


class MayBeLost(Protocol):
    """What decides whether a step, or a part of one, is lost."""

    @property
    def id(self) -> str: ...

    @property
    def parent(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def category(self) -> Category | str | None: ...


_S = TypeVar("_S", bound=MayBeLost)


def lost_of(steps: Iterable[_S]) -> tuple[_S, ...]:
    """Return the steps and items that failed, in the order given; those that needed them aren't.

    What has no output because a condition, a person or the orchestrator left it out isn't lost.
    Of a step that is done for items it is the items, unless it failed before there were any. Of
    any other that failed, it is the step itself and nothing within it.
    """
    steps = tuple(steps)
    members: dict[str, list[_S]] = {}
    for step in steps:
        members.setdefault(step.parent, []).append(step)
    found = {id(each) for step in members.get("", ()) for each in _lost(step, members)}
    return tuple(step for step in steps if id(step) in found)


def _lost(step: _S, members: dict[str, list[_S]]) -> list[_S]:
    # A member's id is longer than that of what it is within; in a forged result it may not be.
    parts = [each for each in members.get(step.id, ()) if len(each.id) > len(step.id)]
    within = [(each, _lost(each, members)) for each in parts]
    found = [lost for _, inner in within for lost in inner]
    if not _is_lost(step, has_lost=bool(found)):
        return found
    return [lost for each, inner in within if _is_item(each.id) for lost in inner] or [step]


def _is_lost(step: MayBeLost, *, has_lost: bool) -> bool:
    if step.status not in ("failed", "skipped") or step.category == Category.UPSTREAM:
        return False
    # Where a person or the orchestrator decided it, there is no category of a failure. Nor has a
    # step one that failed for its members.
    return step.category is not None or has_lost


def _is_item(name: str) -> bool:
    # In a forged result it may be no id.
    with suppress(ValueError):
        return is_instance(name)
    return False


def missing_words(lost: Sequence[MayBeLost]) -> str:
    """Count what is lost: `1 step and 3 items missing`; "" if nothing is."""
    items = sum(_is_item(each.id) for each in lost)
    counts = ((len(lost) - items, "step"), (items, "item"))
    words = [plural(count, word) for count, word in counts if count]
    return f"{' and '.join(words)} missing" if words else ""


def lost_words(lost: Sequence[MayBeLost]) -> str:
    """Count and name what is lost, the first twelve: `2 items missing: S1[3], S1[7]`."""
    names = ", ".join(each.id for each in lost[:_SHOWN])
    more = f" and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
    return f"{missing_words(lost)}: {names}{more}" if lost else ""


def repeat_command(run_id: str, status: str) -> str:
    """Return the command that does what is lost once more, and what reads it.

    A finished run stays as it is: what goes on from it is a run of its own.
    """
    if status == "completed":
        return f"prefect-swarm fork {run_id}"
    return f"prefect-swarm resume {run_id} --retry-failed"
