"""What all parts of one run share: its plan, its place, its options and what it has found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..runs import RunFolder
from ..tasks.subagent.request import CallLimits, Upstream
from .budget import Ledger
from .compile import CompiledPlan
from .options import SwarmOptions
from .records import StepRecord

__all__ = ["RunContext"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of one plan.

    Attributes:
        flow_run_id: Prefect's id of the flow run.
        records: What is known of each step, by its id; a record changes, the mapping doesn't.
        ledger: What the run may still spend.
    """

    plan: CompiledPlan
    run: RunFolder
    flow_run_id: str
    options: SwarmOptions
    records: Mapping[str, StepRecord]
    ledger: Ledger

    @property
    def key(self) -> str:
        """What the cache keys of this run and plan begin with."""
        return f"{self.flow_run_id}.{self.plan.content_hash[:16]}"

    @property
    def inputs(self) -> tuple[Upstream, ...]:
        """The plan's own inputs, which steps without upstream read."""
        return tuple(Upstream(agent=name, text=text) for name, text in self.plan.inputs)

    @property
    def limits(self) -> CallLimits:
        """What bounds a call of the orchestrator."""
        return self.options.call_limits()
