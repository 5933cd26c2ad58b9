"""One candidate for a step's artifact: budget, subagent, gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from prefect.client.schemas.objects import State
from pydantic_ai.exceptions import ModelAPIError

from ..errors import ApprovalNeededError, Category, SwarmError
from ..events.kinds import TextEvent
from ..gates import PipelineResult, format_diagnostics
from ..measures.clock import run_time
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..tasks.subagent.task import WAITING, subagent
from ..tasks.subagent.tool_loop import AttemptBudget, allowed
from ..text import visible
from .attempt_events import told_calls, told_text
from .bounds.ledger import Ledger
from .checking import Inspections
from .compile import CompiledStep
from .context import RunContext
from .task_run import result_in, run_task

__all__ = ["Candidate", "Candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one request came to.

    Attributes:
        states: The Prefect states of its last task runs.
        pipeline_result: The gates' results; None where there was nothing to check.
    """

    request: SubagentRequest
    result: SubagentResult
    pipeline_result: PipelineResult | None
    states: tuple[State[Any], ...]

    @property
    def category(self) -> Category | None:
        """What kind of failure it is; None if it is none."""
        if self.result.category is not None:
            return self.result.category
        stopper = self.pipeline_result and self.pipeline_result.stopped_by
        return (stopper.category or Category.UNKNOWN) if stopper else None

    @property
    def error(self) -> str | None:
        """What was wrong, for whoever tries next."""
        if self.result.category is not None:
            return self.result.error
        stopper = self.pipeline_result and self.pipeline_result.stopped_by
        return (
            f"gate {stopper.gate}: {format_diagnostics(stopper.diagnostics)}" if stopper else None
        )

    @property
    def artifact(self) -> str:
        """The artifact, with all repairs."""
        return self.pipeline_result.artifact if self.pipeline_result else self.result.text

    @property
    def progress(self) -> tuple[bool, int]:
        """How far it got: past the model, and past how many gates."""
        passed = self.pipeline_result.results if self.pipeline_result else ()
        return self.result.category is None, sum(not result.stops for result in passed)


@dataclass(slots=True)
class Candidates:
    """Makes candidates, and has them checked by `inspections`."""

    context: RunContext
    inspections: Inspections
    clock: Callable[[], float] = field(default=run_time)

    async def make(
        self,
        step: CompiledStep,
        request: SubagentRequest,
        wait_for: Sequence[State[Any] | None],
        label: str,
    ) -> Candidate:
        """Ask a subagent and check what it made.

        Args:
            request: Within the budget already, under its key.
            label: Names the task runs, such as `attempt 2`.
        """
        budget = AttemptBudget(partial(self.context.ledger.extend, request.key))
        usage, is_exact = None, False
        try:
            with allowed(budget), told_calls(self.context.tell, request):
                state, result = await self._ask(step, request, wait_for, label)
            # The tokens that a model wrote before it was stopped from outside are not counted.
            is_exact = result.category is not Category.TIMEOUT and not state.is_cancelled()
            usage = result.usage
            is_lost = result.category is Category.INFRASTRUCTURE and not result.usage.requests
            if request.tools or is_lost:
                # Another process, or this one before it waited for a person, has paid for the rest;
                # and what was answered and couldn't be stored is paid for all the same.
                usage = budget.taken
        except ApprovalNeededError:
            usage, is_exact = budget.taken, True
            raise
        finally:
            self.context.ledger.settle(request.key, usage, is_exact=is_exact)
        made = Candidate(request, result, None, (state,))
        return made if result.category is not None else await self.check(step, made, label)

    async def check(self, step: CompiledStep, made: Candidate, label: str) -> Candidate:
        """Have the step's gates look at a candidate; `label` names the task runs."""
        if not step.gates:
            return made
        pipeline_result, states = await self.inspections.inspect(
            step, made.request, made.result.text, made.states[-1], label
        )
        return replace(made, pipeline_result=pipeline_result, states=states)

    async def _ask(
        self,
        step: CompiledStep,
        request: SubagentRequest,
        wait_for: Sequence[State[Any] | None],
        label: str,
    ) -> tuple[State[Any], SubagentResult]:
        started = self.clock()
        name = f"{step.id} · {visible(step.agent, strict=True)} · {label}"
        event = TextEvent(step=step.id, attempt=request.attempt, sample=request.sample)
        with told_text(self.context.tell, event, of_providers=self.context.options.stream_text):
            state, content = await run_task(subagent, request, name=name, wait_for=wait_for)
        if state.name == WAITING:
            raise ApprovalNeededError(state.message or f"{step.id} waits for a person.")
        if (found := result_in(content)) is not None:
            return state, _within_run(found, self.context.ledger)
        known = isinstance(content, SwarmError | ModelAPIError)
        result = SubagentResult(
            model=request.model,
            started_at=started,
            ended_at=self.clock(),
            category=Category.INFRASTRUCTURE,
            error=str(content) if known else repr(content),
        )
        return state, result


def _within_run(result: SubagentResult, ledger: Ledger) -> SubagentResult:
    """Blame the run's budget, not the step, for an attempt that the run's end cut short."""
    if result.category is not Category.TIMEOUT or not ledger.is_over:
        return result
    error = f"The run's time ended {result.timeout_s:.1f} s into this attempt. Raise timeout_s."
    return result.model_copy(update={"category": Category.BUDGET, "error": error})
