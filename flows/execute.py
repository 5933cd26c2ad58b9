"""Run a compiled plan to its result: drive it, answer, report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from prefect.client.schemas.objects import State

from ..errors import BudgetExceededError, RunCancelledError
from ..memory.store import Store
from ..parl.metrics import measure
from ..result import Cost, Recall, SwarmResult, Usage, excerpt
from ..runs import RunFolder
from ..tasks.planner.task import Planned
from ..tasks.subagent.request import SubagentResult
from ..tasks.synthesise import join_outputs, synthesis, synthesise
from .artifacts import DagPage, publish_timeline
from .attempt import Attempts
from .budget import Budget, Ledger
from .compile import CompiledPlan
from .context import RunContext
from .control import Progress, RunControl
from .drive import Driver
from .events import RunStatus, StepStatus
from .options import SwarmOptions
from .records import StepRecord, frontier, save_step, step_results, step_runs
from .replanning import Replacements
from .run_memory import Memories
from .task_run import run_task

__all__ = ["Execution"]


@dataclass(slots=True)
class Execution:
    """One run of one plan.

    Attributes:
        plan_state: The Prefect state that the first steps wait for.
        store: The memory that the run has, if any, and what it made of the plan.
    """

    plan: CompiledPlan
    source: Planned
    options: SwarmOptions
    run: RunFolder
    flow_run_id: str
    control: RunControl
    plan_state: State[Any] | None
    started_at: float
    store: Store | None = None
    recall: Recall | None = None
    _context: RunContext = field(init=False)
    _replacements: Replacements = field(init=False)
    _memories: Memories = field(init=False)

    def __post_init__(self) -> None:
        ledger = Ledger(
            budget=Budget(self.options.max_tokens, self.options.timeout_s),
            started_at=self.started_at,
            spent=self.source.planning.usage.tokens,
        )
        records = {step.id: StepRecord(step) for step in self.plan.steps}
        self._context = RunContext(
            self.plan,
            self.run,
            self.flow_run_id,
            self.options,
            records,
            ledger,
            self.plan_state,
            self.run.begun_again(),
        )
        self._replacements = Replacements(self._context, left=self.options.policy.replans)
        self._memories = Memories(
            self._context,
            store=self.store,
            agents=self.source.plan.agents,
            mitigations=self.recall.mitigations if self.recall else (),
        )

    async def run_to_end(self) -> SwarmResult:
        """Return the result, its pages made.

        Raises:
            RunCancelledError: The run was cancelled; what had finished is kept.
        """
        self.run.write("plan.json", self.plan.to_json())
        page = DagPage(self.plan, self._context.records, lambda: driver.statuses, self.run.run_id)
        driver = self._driver(_tell_both(self.control, page))
        page.start()
        self.control.listener(Progress("planned", time.time(), plan=self.plan))
        try:
            status = await driver.drive()
            if "cancelled" in driver.statuses.values():
                raise RunCancelledError("The run was cancelled on request.")
            result = await self._conclude(driver, status)
        except BaseException as error:
            await self._leave(page, driver.statuses, error)
            raise
        critical = frozenset(step.id for step in result.steps if step.critical)
        await asyncio.gather(page.close(critical), publish_timeline(result))
        self.run.write("result.json", result)
        self.control.listener(Progress("finished", time.time(), result=result))
        return result

    def _driver(self, tell: Callable[[Progress], None]) -> Driver:
        attempts = Attempts(self._context, self._replacements, self._memories)
        return Driver(self._context, attempts, self.control, tell)

    async def _leave(
        self, page: DagPage, statuses: Mapping[str, StepStatus], error: BaseException
    ) -> None:
        """Write down and show what happened in a run that ends early; it has no result."""
        for name, record in self._context.records.items():
            if record.attempts or record.reason:
                save_step(self.run, record, statuses[name])
        why = f"It was left early{f': {error}' if str(error) else '.'}"
        problem = f"{why} Go on with: prefect-swarm resume {self.run.run_id}"
        result = self._result("unfinished", statuses, Usage(), problem=problem)
        await asyncio.gather(page.close(frozenset()), publish_timeline(result))

    async def _conclude(self, driver: Driver, status: RunStatus) -> SwarmResult:
        last = frontier(self.plan, self._context.records)
        answer, usage, trouble = await self._answer(last)
        if trouble and status == "completed":
            status = "partial"
        records = list(self._context.records.values())
        problems = [
            f"{record.step.id}: {record.reason}"
            for record in records
            if record.output is None and driver.statuses[record.step.id] == "failed"
        ]
        taught = await self._memories.conclude(records)
        problem = excerpt(" ".join([*problems, trouble]).strip(), 2000)
        return self._result(
            status, driver.statuses, usage, answer=answer, taught=taught, problem=problem
        )

    def _result(
        self,
        status: RunStatus | Literal["unfinished"],
        statuses: Mapping[str, StepStatus],
        answering: Usage,
        *,
        answer: str = "",
        taught: tuple[str, ...] = (),
        problem: str,
    ) -> SwarmResult:
        """Write down what a run came to; `answering` is what the answer took."""
        records = list(self._context.records.values())
        orchestrated = (self.source.planning.usage, self._replacements.usage, answering)
        made = (attempt.usage for record in records for attempt in record.attempts)
        return SwarmResult(
            run_id=self.run.run_id,
            flow_run_id=self.flow_run_id,
            status=status,
            answer=answer,
            plan=self.source.plan,
            content_hash=self.plan.content_hash,
            planning=self.source.planning,
            steps=step_results(records, statuses),
            metrics=measure(step_runs(records), sum(usage.requests for usage in orchestrated)),
            cost=Cost.of(sum((*orchestrated, *made), Usage())),
            recall=self.recall,
            taught=taught,
            problem=problem,
        )

    async def _answer(self, last: tuple[StepRecord, ...]) -> tuple[str, Usage, str]:
        """Return the answer, what it took, and what went wrong with it."""
        outputs = tuple(record.output for record in last if record.output is not None)
        # What gates have passed, no model writes again.
        if len(outputs) <= 1 or any(output.kind != "text" for output in outputs):
            return join_outputs(outputs), Usage(), ""
        request = synthesis(
            self.plan.objective,
            outputs,
            done_when=self.source.plan.definition_of_done,
            key=self._context.key,
            run=self.flow_run_id,
            model=self.options.model_of("orchestrator"),
            limits=self._context.limits,
        )
        try:
            request = await self._context.ledger.reserve(request)
        except BudgetExceededError as error:
            return join_outputs(outputs), Usage(), f"The answer could not be written: {error}"
        self.control.listener(Progress("synthesising", time.time()))
        answering = run_task(
            synthesise,
            request,
            name="Answer · orchestrator",
            wait_for=[state for record in last for state in record.states],
        )
        _, content = await self.control.unless_cancelled(answering)
        if not isinstance(content, dict):
            return (
                join_outputs(outputs),
                Usage(),
                f"The answer could not be written: {content!r}",
            )
        result = SubagentResult.model_validate(content)
        if result.category is not None:
            trouble = f"The answer could not be written: {result.error}"
            return join_outputs(outputs), result.usage, trouble
        return result.text, result.usage, ""


def _tell_both(control: RunControl, page: DagPage) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        page.hear(progress)
        control.listener(progress)

    return tell
