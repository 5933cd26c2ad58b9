"""Reading a plan while it is written: steps that need nothing are asked about already."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from time import perf_counter

from ..errors import MemoryStoreError, PlanError
from ..models.streaming import streaming_to
from ..plan.compile import StepDefaults, compile_plan
from ..plan.procedure_steps import FindProcedure, resolve
from ..plan.schedule_events import Launch
from ..plan.step import needs_of
from ..plan.task_ir import PlanRules, TaskIR
from ..store.procedures import find_procedure
from ..store.result import Recall
from ..store.step import StepState
from ..tasks.memory import advise_on
from ..tasks.planner.partial import PlanText, plan_so_far
from ..tasks.subagent.request import SubagentRequest, omissions_of
from .context import RunContext
from .memory import recall_request_of
from .request import attempt_request
from .run_inputs import with_inputs

__all__ = ["PlanReader", "first_requests", "plan_reading"]


async def first_requests(context: RunContext, plan: TaskIR) -> Sequence[SubagentRequest]:
    """Return the first requests of the steps that need no other step, for a plan so far.

    None for what has to be summarised first, for the samples of a step, and for steps with tools:
    what these do isn't undone where the plan is written on without them.

    Raises:
        PlanError: A step names an input that isn't given.
    """
    options = context.options
    plan = with_inputs(plan, context.inputs)
    defaults = StepDefaults(options.max_attempts, options.gates)
    recall = await _recall(context, plan)
    compiled = compile_plan(
        plan, defaults, recall=recall.steps if recall else (), toolsets=context.toolsets.names
    )
    records = {step.id: StepState.of(step) for step in compiled.steps}
    so_far = replace(context, plan=compiled, records=records)
    requests = (
        attempt_request(so_far, records[step.id], Launch(step.id, 1, step.tier), None)
        for step in compiled.steps
        if step.is_root
    )
    cuts = options.policy.long_inputs == "cut"
    return [
        request
        for request in requests
        if not request.tools and (cuts or not omissions_of(request, marked=False))
    ]


async def _recall(context: RunContext, plan: TaskIR) -> Recall | None:
    """Return what the memory says of the steps that need nothing."""
    if context.memory is None:
        return None
    request = recall_request_of(context, plan, context.memory)
    steps = {step.id for step in plan.steps if not needs_of(step)}
    try:
        return Recall(steps=await asyncio.to_thread(advise_on, request, steps))
    except MemoryStoreError:
        return None


_PAUSE = 4
"""How many times as long as reading a plan so far takes it isn't read again."""

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(slots=True)
class PlanReader:
    """Hears a plan while it is written, and offers the first requests of its complete steps.

    Attributes:
        plan: The steps that were complete when most of them were; None before the first.
        text: What they were written in.
        has_received: Whether anything was written.
    """

    context: RunContext
    rules: PlanRules
    plan: TaskIR | None = field(init=False, default=None)
    text: str = field(init=False, default="")
    has_received: bool = field(init=False, default=False)
    _text: PlanText = field(init=False, default_factory=PlanText)
    _grown: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    # The plan so far is read again and again, and its procedures once.
    _find: FindProcedure = field(init=False, default_factory=lambda: cache(find_procedure))

    @contextmanager
    def reading(self) -> Generator[PlanReader]:
        """Hear what the planner that is asked inside writes."""
        offering = asyncio.create_task(self._offer())
        try:
            with streaming_to(self, of_providers=True, of_calls=True):
                yield self
        finally:
            offering.cancel()
            self._read()

    def begin(self) -> None:
        """Read another text from its beginning."""
        self._read()
        self._text.begin()

    def add(self, piece: str) -> None:
        """Read on."""
        self.has_received = True
        if self._text.add(piece):
            self._grown.set()

    def _read(self) -> TaskIR | None:
        """Return the plan so far, and keep it unless an earlier stream came further."""
        plan = plan_so_far(self._text, self.context.objective.strip(), self.rules)
        if plan is not None:
            plan = self._resolved(plan)
        if plan and (self.plan is None or len(plan.steps) >= len(self.plan.steps)):
            self.plan, self.text = plan, self._text.closed
        return plan

    def _resolved(self, plan: TaskIR) -> TaskIR | None:
        """Return a plan with the steps of its procedures; None while one can't be taken."""
        try:
            return resolve(plan, self._find, self.rules)
        except PlanError:
            return None

    async def _offer(self) -> None:
        try:
            while await self._grown.wait():
                self._grown.clear()
                began = perf_counter()
                if (plan := self._read()) is not None:
                    requests = await first_requests(self.context, plan)
                    self.context.prestarted.offer(requests)
                # The whole of a plan is read each time: a long one less often than it grows.
                await asyncio.sleep(_PAUSE * (perf_counter() - began))
        except Exception as error:  # noqa: BLE001 - the plan is still written; steps only start later
            _logger.warning("No step starts before the plan is there: %r", error)


def plan_reading(
    context: RunContext, rules: PlanRules
) -> AbstractContextManager[PlanReader | None]:
    """Read a plan under these rules while it is written inside; None where it can't be used."""
    options = context.options
    # What a plan leaves of a bound is what its steps may take, so they wait for it; and so they do
    # for a person who is asked about it.
    is_bounded = options.max_tokens is not None or options.max_usd is not None
    is_approved = bool({"plan", "acting", "steps"} & set(options.approve))
    if is_bounded or is_approved or not options.stream_plan:
        return nullcontext()
    return PlanReader(context, rules).reading()
