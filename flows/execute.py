"""Execution of a compiled plan to its result: drive, answer, report."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from prefect.client.schemas.objects import State

from ..errors import Category, RunCancelledError
from ..memory.store import Store
from ..metrics.clock import run_time
from ..metrics.critical_path import measure
from ..plan.compile import CompiledPlan
from ..plan.schedule import RunStatus
from ..store.approvals import Approvals
from ..store.attempt import Usage, excerpt
from ..store.events import FinishedEvent, PlannedEvent, PlannedStep, RunEvent
from ..store.folder import RunFolder
from ..store.question import RunWaitingError
from ..store.result import Cost, Recall, SwarmResult
from ..store.step import StepState
from ..tasks.planner.task import Planned
from .answer import Answering
from .approval import Asking
from .attempt import Attempts
from .bounds import Ledger, Models
from .context import RunContext, frontier, save_step, step_results
from .control import RunControl
from .drive import Driver
from .memory import Memories
from .options import SwarmOptions
from .plan_changes import Replacements, keep_unchanged
from .prefect_io.live_view import LiveRun
from .prefect_io.pages import RunPages
from .prestart import PrestartedRequests
from .stored_plan import restore_steps
from .timing import NotedTime, stopped_among, time_of_run

__all__ = ["Execution"]

_logger = logging.getLogger("prefect_swarm.runs")
_RAISE = "Resume with a higher limit (--max-tokens, --max-usd, --timeout-s):"


@dataclass(slots=True)
class Execution:
    """One run of one plan.

    Attributes:
        plan_state: The Prefect state that the first steps wait for.
        ledger: The run's accounts; what the plan took is in them.
        ahead: What was asked ahead of the plan, if anything could be.
        store: The memory that the run has, if any, and what it made of the plan.
        models: What is known of the models.
        check_answer: Says what is wrong with an answer in JSON; "" if nothing is.
        edits: How many edited plans there were when this one was compiled.
    """

    plan: CompiledPlan
    source: Planned
    options: SwarmOptions
    run: RunFolder
    flow_run_id: str
    control: RunControl
    plan_state: State[Any] | None
    ledger: Ledger
    ahead: PrestartedRequests | None = None
    store: Store | None = None
    recall: Recall | None = None
    models: Models = field(default_factory=Models)
    check_answer: Callable[[str], str] = lambda _: ""
    edits: int = 0
    clock: Callable[[], float] = field(default=run_time)
    _ending: NotedTime = field(init=False, default_factory=NotedTime)
    _pages: RunPages | None = field(init=False, default=None)
    _asking: Asking = field(init=False)
    _attempts: Attempts = field(init=False)
    _context: RunContext = field(init=False)
    _replacements: Replacements = field(init=False)
    _memories: Memories = field(init=False)
    _restored: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        records = {step.id: StepState.of(step) for step in self.plan.steps}
        if self.edits:
            keep_unchanged(self.run, self.plan)
        self._restored = restore_steps(self.run, records)
        self._context = RunContext(
            self.plan,
            self.run,
            self.flow_run_id,
            self.options,
            records,
            self.ledger,
            self.plan_state,
            self.run.restart_counts(),
            self.models,
            self._emit,
            self.ahead,
        )
        replaced = sum(record.revision for record in records.values())
        left = max(0, self.options.policy.replans - replaced)
        self._replacements = Replacements(self._context, left=left)
        self._memories = Memories(
            self._context,
            store=self.store,
            agents=self.source.plan.agents,
            mitigations=self.recall.mitigations if self.recall else (),
        )
        self._attempts = Attempts(self._context, self._replacements, self._memories)
        self._asking = Asking(self._context, Approvals(self.run), self.edits)

    async def run_to_end(self) -> SwarmResult | None:
        """Return the result, its pages made; None if an edited plan is to take this one's place.

        Raises:
            RunCancelledError: The run was cancelled; what had finished is kept.
            RunWaitingError: It is left until a person has answered.
        """
        edits = {"edits": self.edits} if self.edits else {}
        has_pages = self.run.has("plan.json")
        self.run.store("plan.json", {**self.plan.to_json(), **edits})
        if self.options.pages:
            live = LiveRun(self._context, self.source.planning, self.recall, self._began_at())
            self._pages = RunPages(live, has_pages)
        await self._attempts.settle_prestarted(self._restored)
        driver = Driver(
            self._context,
            self._attempts,
            self.control,
            self._emit,
            self._asking,
            restored=self._restored,
            begun=self.ahead.begun if self.ahead else frozenset(),
        )
        if self._pages is not None:
            self._pages.start()
        self._emit(_planned(self.plan))
        try:
            status = await driver.drive()
            if status == "edited":
                await self._close_pages(None)
                return None
            records = self._context.records.values()
            if any(record.status == "cancelled" for record in records):
                raise RunCancelledError("The run was cancelled on request.")
            result = await self._conclude(status)
        except BaseException as error:
            await self._leave(error)
            raise
        self.run.store("result.json", result)
        self._warn_of_unstored()
        self.control.listener(_finished(result))
        await self._close_pages(result)
        return result

    def _warn_of_unstored(self) -> None:
        if names := self.run.store_pending():
            _logger.warning(
                "There is still no room for %s in %s. Only this process has them: keep what it "
                "prints. Another one that resumes the run asks for them again.",
                ", ".join(names),
                self.run.folder,
            )

    def _emit(self, event: RunEvent) -> None:
        if self._pages is not None:
            self._pages.handle(event)
        self.control.listener(event)

    async def _close_pages(self, result: SwarmResult | None) -> None:
        if self._pages is not None:
            await self._pages.close(result)

    def _began_at(self) -> float:
        return self.run.started_at()

    async def _leave(self, error: BaseException) -> None:
        """Write down and show what happened in a run that ends early; it has no result."""
        for record in self._context.records.values():
            if record.attempts or record.reason:
                save_step(self.run, record)
        problem = str(error)
        if not isinstance(error, RunWaitingError):
            why = f"It was left early{f': {problem}' if problem else '.'}"
            problem = f"{why} Resume with: prefect-swarm resume {self.run.run_id}"
        result = self._result("unfinished", Usage(), problem=problem)
        await self._close_pages(result)

    async def _conclude(self, status: RunStatus) -> SwarmResult:
        last = frontier(self.plan, self._context.records)
        answering = Answering(
            self._context, self.control, self.source.plan.definition_of_done, self.check_answer
        )
        with self._ending.noted("answer"):
            answer = await answering.answer(last)
        broke_off = self.source.planning.broke_off
        if (answer.trouble or broke_off) and status == "completed":
            status = "partial"
        records = list(self._context.records.values())
        problems = [
            f"{record.step.id}: {record.reason}"
            for record in records
            if record.output is None and record.status == "failed"
        ]
        with self._ending.noted("memory"):
            taught = await self._memories.conclude(records)
        stopped = any(record.category is Category.BUDGET for record in records)
        advice = f"{_RAISE} prefect-swarm resume {self.run.run_id} --max-tokens N"
        parts = [
            self._asking.rejection,
            _broken(broke_off),
            *problems,
            answer.trouble,
            advice if stopped else "",
        ]
        problem = excerpt(" ".join(filter(None, parts)), 2000)
        return self._result(
            status,
            answer.usage,
            answer=answer.text,
            taught=taught,
            problem=problem,
        )

    def _result(
        self,
        status: RunStatus | Literal["unfinished"],
        answering: Usage,
        *,
        answer: str = "",
        taught: tuple[str, ...] = (),
        problem: str,
    ) -> SwarmResult:
        """Write down what a run came to; `answering` is what the answer took."""
        records = list(self._context.records.values())
        decisions = (a.decision for record in records for a in record.attempts if a.decision)
        replanning = sum((decision.usage for decision in decisions), Usage())
        orchestrated = (self.source.planning.usage, replanning, answering)
        steps = step_results(records)
        upstream = {record.step.id: record.step.upstream for record in records}
        ending = self._ending.stretches
        spent = time_of_run(self.run, steps, upstream, ending, self.clock())
        calls = sum(usage.requests for usage in orchestrated)
        total_s, stopped_s = (spent.total_s, stopped_among(steps, spent)) if spent else (0.0, 0.0)
        metrics = measure(steps, upstream, calls, total_s, stopped_s)
        return SwarmResult(
            run_id=self.run.run_id,
            flow_run_id=self.flow_run_id,
            status=status,
            answer=answer,
            plan=self.source.plan,
            content_hash=self.plan.content_hash,
            planning=self.source.planning,
            steps=steps,
            metrics=metrics,
            time=spent,
            cost=Cost.of(self._context.ledger.accounts.usage),
            recall=self.recall,
            taught=taught,
            problem=problem,
        )


def _broken(why: str) -> str:
    return f"The plan broke off; what was complete of it was run. {why}" if why else ""


def _planned(plan: CompiledPlan) -> PlannedEvent:
    return PlannedEvent(
        steps=tuple(
            PlannedStep(
                id=step.id,
                agent=step.agent,
                tier=step.tier,
                upstream=step.upstream,
                optional=step.optional,
            )
            for step in plan.steps
        )
    )


def _finished(result: SwarmResult) -> FinishedEvent:
    cost = result.cost
    return FinishedEvent(
        status=result.status,
        answer=result.answer,
        problem=result.problem,
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cost_usd=cost.money_usd,
    )
