"""A plan is read while it is written; the steps that need nothing are asked about at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...blocks.hearing import hear_text
from ...task_ir import PlanRules, TaskIR
from ...tasks.planner.partial import PlanText, plan_so_far
from ...tasks.subagent.request import SubagentRequest
from .requests import AheadRequests

__all__ = ["PlanReader"]

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(slots=True)
class PlanReader:
    """Hears a plan while it is written, and offers the first requests of its complete steps.

    Attributes:
        first_requests: Returns the first requests of a plan so far: of the steps that need nothing.
        requests: Makes them.
    """

    objective: str
    rules: PlanRules
    first_requests: Callable[[TaskIR], Awaitable[Sequence[SubagentRequest]]]
    requests: AheadRequests
    _text: PlanText = field(init=False, default_factory=PlanText)
    _grown: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    @contextmanager
    def reading(self) -> Generator[None]:
        """Hear what the planner that is asked inside writes."""
        offering = asyncio.create_task(self._offer())
        try:
            with hear_text(self, of_providers=True, of_calls=True):
                yield
        finally:
            offering.cancel()

    def begin(self) -> None:
        """Read another text from its beginning."""
        self._text.begin()

    def add(self, piece: str) -> None:
        """Read on."""
        if self._text.add(piece):
            self._grown.set()

    async def _offer(self) -> None:
        try:
            while await self._grown.wait():
                self._grown.clear()
                plan = plan_so_far(self._text, self.objective, self.rules)
                if plan is not None:
                    self.requests.offer(await self.first_requests(plan))
        except Exception as error:  # noqa: BLE001 - the plan is still written; steps only start later
            _logger.warning("No step starts before the plan is there: %r", error)
