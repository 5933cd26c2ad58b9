"""A run that gets no plan says what was asked ahead of it, and what that took."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ...errors import ModelError, NoPlanError
from ...result import Usage
from ...text import dollars, plural
from ..bounds.accounts import Accounts
from .requests import AheadRequests
from .stored import is_ahead

__all__ = ["accounted"]


@asynccontextmanager
async def accounted(ahead: AheadRequests) -> AsyncGenerator[None]:
    """End what was asked ahead of a plan that isn't written inside; its error says what it took."""
    try:
        yield
    except (ModelError, NoPlanError) as error:
        await ahead.aclose()
        if note := _note(ahead.ledger.accounts):
            error.problem = f"{error.problem} {note}"
            error.args = (error.problem, *error.args[1:])
        raise


def _note(accounts: Accounts) -> str:
    asked = [booking for key, booking in accounts.settled.items() if is_ahead(key)]
    if not asked:
        return ""
    steps = sorted({booking.step for booking in asked}, key=lambda step: (len(step), step))
    usage = sum((booking.usage for booking in asked), Usage())
    money = f", {dollars(usage.cost_usd)}" if usage.cost_usd is not None else ""
    return (
        f"Of what was written of it, {', '.join(steps)} had been asked: "
        f"{plural(usage.requests, 'answer')}, {plural(usage.tokens, 'token')}{money}. They are "
        "kept for a plan that has the same steps."
    )
