"""What the first attempts of a plan so far would ask, just as they would ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import MemoryStoreError
from ...result import Recall
from ...runs import RunFolder
from ...task_ir import TaskIR
from ...tasks.recall import advise_on
from ...tasks.subagent.request import SubagentRequest, left_out_of
from ...toolsets.catalogue import catalogue_of
from ..bounds.ledger import Ledger
from ..bounds.limits import Models
from ..compile import StepDefaults, compile_plan
from ..context import RunContext
from ..events import Launch
from ..given.merging import with_inputs
from ..options import SwarmOptions
from ..records import StepRecord
from ..request import attempt_request
from ..run_memory import recall_request_of, store_of

__all__ = ["FirstRequests"]


@dataclass(frozen=True, slots=True)
class FirstRequests:
    """Makes the first requests of the steps that need no other step.

    Attributes:
        inputs: Names and texts that the run is given.
    """

    run: RunFolder
    flow_run_id: str
    options: SwarmOptions
    models: Models
    ledger: Ledger
    inputs: Mapping[str, str]

    async def of(self, plan: TaskIR) -> Sequence[SubagentRequest]:
        """Return the first requests of a plan so far.

        None for what has to be summarised first, and for steps with tools: what these do isn't
        undone where the plan is written on without them.

        Raises:
            PlanError: A step names an input that isn't given.
        """
        plan = with_inputs(plan, self.inputs)
        defaults = StepDefaults(self.options.max_attempts, self.options.gates)
        toolsets = catalogue_of(self.flow_run_id).names
        recall = await self._recall(plan)
        compiled = compile_plan(plan, defaults, recall=recall, toolsets=toolsets)
        records = {step.id: StepRecord(step) for step in compiled.steps}
        context = RunContext(
            compiled,
            self.run,
            self.flow_run_id,
            self.options,
            records,
            self.ledger,
            models=self.models,
        )
        requests = (
            attempt_request(context, records[step.id], Launch(step.id, 1, step.tier), None)
            for step in compiled.steps
            if not step.upstream
        )
        cuts = self.options.policy.long_inputs == "cut"
        return [
            request
            for request in requests
            if not request.tools and (cuts or not left_out_of(request, marked=False))
        ]

    async def _recall(self, plan: TaskIR) -> Recall | None:
        """Return what the memory says of the steps that need nothing."""
        if (store := await store_of(self.options)) is None:
            return None
        request = recall_request_of(plan, self.options, store, self.flow_run_id)
        steps = {step.id for step in plan.steps if not step.depends_on}
        try:
            return Recall(steps=await asyncio.to_thread(advise_on, request, steps))
        except MemoryStoreError:
            return None
