"""What an attempt with tools has taken, and whether its run can afford another request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ....result import Usage

__all__ = ["AttemptBudget", "allowed", "current_budget"]


async def _affordable(_: Usage, __: int) -> None:
    return None


@dataclass(slots=True)
class AttemptBudget:
    """What one process spends on an attempt.

    Attributes:
        extend: Takes what the attempt took in this process, and the tokens that its next request
            will read. Returns once the run can afford that; raises BudgetExceededError if it never
            can.
        taken: What the attempt took in this process.
    """

    extend: Callable[[Usage, int], Awaitable[None]] = _affordable
    taken: Usage = field(default_factory=Usage)


_current: ContextVar[AttemptBudget | None] = ContextVar("attempt_budget", default=None)


@contextmanager
def allowed(budget: AttemptBudget) -> Generator[None]:
    """Let the attempt inside spend by a budget."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def current_budget() -> AttemptBudget:
    """Return the budget of the attempt that runs here; one without bounds if there is none."""
    return _current.get() or AttemptBudget()
