"""What all parts of one run share: its plan, its place, its options and what it has found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prefect.client.schemas.objects import State

from ..events.kinds import Tell, unheard
from ..output import StepOutput
from ..runs import RunFolder
from ..tasks.subagent.request import CallLimits
from .bounds.ledger import Ledger
from .bounds.limits import Models, call_limits
from .compile import CompiledPlan, CompiledStep
from .options import SwarmOptions
from .prestart import AheadRequests
from .records import StepRecord

__all__ = ["RunContext"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of one plan.

    Attributes:
        flow_run_id: Prefect's id of the flow run.
        records: What is known of each step, by its id; a record changes, the mapping doesn't.
        ledger: What the run may still spend.
        plan_state: The Prefect state that steps without upstream wait for.
        begun_again: How often each step was begun again after its run had failed; see
            `RunFolder.begin_again`.
        models: What is known of the models.
        tell: Hears of what happens in the run.
        ahead: What was asked ahead of the plan, if anything could be.
    """

    plan: CompiledPlan
    run: RunFolder
    flow_run_id: str
    options: SwarmOptions
    records: Mapping[str, StepRecord]
    ledger: Ledger
    plan_state: State[Any] | None = None
    begun_again: Mapping[str, int] = field(default_factory=dict[str, int])
    models: Models = field(default_factory=Models)
    tell: Tell = unheard
    ahead: AheadRequests | None = None

    @property
    def key(self) -> str:
        """What the cache keys of this run and plan begin with."""
        return f"{self.flow_run_id}.{self.plan.content_hash[:16]}"

    def upstream_of(self, step: CompiledStep) -> tuple[StepOutput, ...]:
        """Return what a step reads: inputs of the plan, and the outputs of the steps before it."""
        inputs = (StepOutput(name=name, text=text) for name, text in self.plan.inputs_of(step))
        outputs = (self.records[name].output for name in step.upstream)
        return (*inputs, *(output for output in outputs if output is not None))

    @property
    def limits(self) -> CallLimits:
        """What bounds a call of the orchestrator."""
        name = self.options.model_of("orchestrator")
        return call_limits(self.options, "orchestrator", self.models.profile(name))
