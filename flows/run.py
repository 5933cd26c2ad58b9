"""One run, from its objective to its result: plan, recall, compile, drive, answer, finish."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from prefect.client.schemas.objects import State

from ..errors import BudgetExceededError, Category, RunCancelledError, RunDamagedError
from ..gates import GateCache, gate_name, ready_for
from ..metrics.clock import run_time
from ..metrics.critical_path import measure
from ..metrics.parl import turns_of_run
from ..models.remote import open_models
from ..models.request_context import refused_providers, request_context, waits_to
from ..models.shared_limit import find_limits
from ..plan.compile import StepDefaults, compile_plan
from ..plan.ids import is_step_id, root_of
from ..plan.irreversible import find_irreversible, irreversible_words
from ..plan.schedule_events import RunStatus
from ..plan.step import Agent, placed_steps
from ..plan.task_ir import TaskIR
from ..settings import home
from ..store.approvals import Approvals
from ..store.attempt import Usage, excerpt
from ..store.event_log import EventBus
from ..store.events import FinishedEvent, PlannedEvent
from ..store.losses import lost_of, lost_words
from ..store.protocol import PlanRecord, RunStore
from ..store.question import RunWaitingError
from ..store.result import Cost, Recall, SwarmResult, Undone
from ..store.step import StepState
from ..tasks.context import task_context
from ..tasks.planner.task import Planned
from .answer import Answering, RunAnswer
from .answer_type import answer_check
from .approval import Asking
from .attempt import Attempts
from .bounds import concurrency_limits
from .cluster.executor import executor_of_run
from .context import (
    RunContext,
    frontier,
    planned_steps,
    save_step,
    step_results,
)
from .control import RunControl, wait_events
from .drive import Driver
from .estimate import least_of_plan, shortage, sizes_of
from .event_log import event_bus
from .followed import FollowedSteps
from .memory import Memories, facts_for, reads_facts, recall_for, store_of
from .messages import Inbox
from .options import SwarmOptions
from .parl_figures import parl_of_run
from .parts import followed_above
from .picture_readers import check_any_reader, check_readers
from .plan_changes import Replacements, keep_unchanged, plan_so_far, steps_written
from .planning import explored_before, plan_for, plan_rules
from .prefect_io.flow_run import terminable
from .prefect_io.live_view import LiveRun
from .prefect_io.pages import RunPages
from .prefect_io.prefect_events import PrefectEvents
from .prefect_io.task_runs import task_run_of
from .preflight import (
    check_gates,
    check_models,
    check_pools,
    check_toolsets,
    toolsets_of_run,
)
from .prestart import PrestartedRequests, accounted
from .run_inputs import stored_inputs
from .step_needs import needs_of_records
from .stored_plan import (
    StoredPlanning,
    StoredRecall,
    book_plan,
    go_on,
    load,
    open_ledger,
    restore_steps,
    save,
    stored_turns,
)
from .timing import NotedTime, stopped_among, time_of_run
from .turns import Turns
from .undo import describe_undone, undo_steps
from .workspace import Workspace, open_run_workspace

__all__ = ["Run"]

_logger = logging.getLogger("prefect_swarm.runs")
_RAISE = "Resume with a higher limit (--max-tokens, --max-usd, --timeout-s):"


@dataclass(slots=True)
class Run:
    """One run of the flow; `to_result` takes it through its phases, in the order of the methods.

    What an earlier process of the run has stored is taken from there, not done again.

    Attributes:
        folder: Where all of it is stored; its lock is held.
        user_plan: The plan that the user gave; None where the orchestrator writes one.
        control: How the code around the flow stops the run, and who asks a person.
        context: What the parts of the run share. `compile` gives it the plan.
        planned: The plan, and where it comes from, with what a person has edited since.
        recalled: What the memory makes of the plan; None without one.
        edits: How often the plan was edited.
    """

    folder: RunStore
    flow_run_id: str
    objective: str
    user_plan: TaskIR | None
    options: SwarmOptions
    control: RunControl
    clock: Callable[[], float] = run_time
    context: RunContext = field(init=False)
    planned: Planned = field(init=False)
    recalled: Recall | None = field(init=False, default=None)
    edits: int = field(init=False, default=0)
    _bus: EventBus = field(init=False)
    _unedited: Planned = field(init=False)
    _plan_state: State[Any] | None = field(init=False, default=None)
    _restored: frozenset[str] = field(init=False, default=frozenset())
    _asking: Asking = field(init=False)
    _attempts: Attempts = field(init=False)
    _memories: Memories = field(init=False)
    _driver: Driver = field(init=False)
    _turns: Turns | None = field(init=False, default=None)
    _before_turns: TaskIR = field(init=False)
    _pages: RunPages | None = field(init=False, default=None)
    _undone: tuple[Undone, ...] = field(init=False, default=())
    _ending: NotedTime = field(init=False, default_factory=NotedTime)

    async def to_result(self) -> SwarmResult:
        """Return the result; where a person edits the plan, the run goes on from the recall.

        Raises:
            RunCancelledError: The run was cancelled; what had finished is stored.
            RunWaitingError: It is left until a person has answered.
        """
        async with self._opened():
            await self.plan()
            while True:
                await self.recall()
                await self.compile()
                status = await self.drive()
                if status != "edited":
                    if status != "completed":
                        await self.undo()
                    return await self.finish(status, await self.answer())

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[None]:
        """Open what the run needs as long as it goes on: its events, models, tools and accounts."""
        folder, options = self.folder, self.options
        with event_bus(folder, self.flow_run_id, self.control.listener) as self._bus:
            emit = self._bus.emit
            if options.notices:
                bounds = options.max_tokens, options.max_usd
                self._bus.add(PrefectEvents.of_run(self.flow_run_id, *bounds).handle)
            async with AsyncExitStack() as stack:
                stack.enter_context(terminable(self.control))
                stack.enter_context(refused_providers())
                stack.enter_context(waits_to(wait_events(emit)))
                if (workspace := await open_run_workspace(folder, options)) is not None:
                    await stack.enter_async_context(workspace.base_checked())
                shared = await find_limits(options.provider_limits)
                stack.enter_context(request_context(limits=shared))
                executor = await stack.enter_async_context(
                    executor_of_run(options, folder, self.flow_run_id)
                )
                await stack.enter_async_context(open_models())
                toolsets = await stack.enter_async_context(toolsets_of_run(options))
                models = await check_models(options, self.user_plan)
                ledger = open_ledger(folder, options, models.prices, run_time(), emit)
                memory = await store_of(options)
                limits = concurrency_limits(options, models)
                prestarted = PrestartedRequests(folder, ledger, limits, emit, options.stream_text)
                await stack.enter_async_context(aclosing(prestarted))
                stack.enter_context(
                    task_context(
                        executor=executor,
                        resumed=ledger.is_resumed,
                        toolsets=toolsets,
                        prestarted=prestarted.answers,
                        gate_cache=GateCache(home() / "gates"),
                    )
                )
                self.context = RunContext(
                    run=folder,
                    flow_run_id=self.flow_run_id,
                    objective=self.objective,
                    options=options,
                    ledger=ledger,
                    emit=emit,
                    prestarted=prestarted,
                    control=self.control,
                    inputs=stored_inputs(folder),
                    models=models,
                    toolsets=toolsets,
                    memory=memory,
                    restart_counts=folder.restart_counts(),
                    workspace=workspace,
                )
                yield

    async def plan(self) -> None:
        """Have the plan written, unless the user gave one; its price is booked once."""
        context = self.context
        if stored := load(context.run, StoredPlanning):
            self._unedited, self._plan_state = stored.planned, stored.state
        else:
            unless_cancelled = context.control.unless_cancelled
            facts = explored = None
            if self.user_plan is None:
                check_any_reader(context.inputs, context.options, context.models.profile)
                facts = await facts_for(context)
                explored = await unless_cancelled(explored_before(context))
            async with accounted(context.prestarted):
                planning = plan_for(context, self.user_plan, facts, explored)
                self._unedited, self._plan_state = await unless_cancelled(planning)
            task_run = task_run_of(self._plan_state)
            save(context.run, StoredPlanning(planned=self._unedited, task_run=task_run))
        book_plan(context.ledger, self._unedited)

    async def recall(self) -> None:
        """Take what a person has edited, and ask the memory about each step of the plan."""
        context = self.context
        edits = Approvals(context.run).edits()
        rules = plan_rules(context.options, context.toolsets.names)
        self.edits = len(edits)
        turns = stored_turns(context.run)
        self.planned = plan_so_far(self._unedited, edits, turns, rules)
        before_edit = [turn for turn in turns if turn.edits < self.edits]
        self._before_turns = plan_so_far(self._unedited, edits, before_edit, rules).plan
        self._turns = None
        if await self._is_directed():
            taken, plan = [turn for turn in turns if not turn.waits], self.planned.plan
            waiting = next((turn for turn in turns if turn.waits), None)
            self._turns = Turns(context, self._unedited, plan, taken, self.edits, waiting)
        elif context.options.turns > 1:
            Inbox(context.run, context.emit).close_for_good(
                "its orchestrator has one turn: the plan"
            )
        if edits:
            models = await check_models(context.options, self.planned.plan)
            go_on(context.ledger, context.run, models.prices)
            context = replace(context, models=models)
        if stored := load(context.run, StoredRecall, self.edits):
            self.recalled, state = stored.recall, stored.state or self._plan_state
        else:
            written = steps_written(self._unedited, self.planned.plan)
            before = replace(context, plan_state=self._plan_state)
            self.recalled, state = await recall_for(before, self.planned.plan, written)
            recalled = StoredRecall(recall=self.recalled, task_run=task_run_of(state))
            save(context.run, recalled, self.edits)
        self.context = replace(context, plan_state=state)

    async def compile(self) -> None:
        """Compile the plan, check what its steps need, and take what is done of them.

        Raises:
            BudgetExceededError: The run can't afford what the plan reads at the least.
            GateError: A gate that a step has to pass can't run here.
            ModelError: A step reads a picture, and its model takes none.
            ToolsetError: A toolset that a step works with can't be had.
        """
        folder, options, toolsets = self.context.run, self.context.options, self.context.toolsets
        defaults = StepDefaults(options.max_attempts, options.gates)
        advice = self.recalled.steps if self.recalled else ()
        advice = (*advice, *(self._turns.advice if self._turns else ()))
        compiled = partial(compile_plan, defaults=defaults, recall=advice, toolsets=toolsets.names)
        plan = compiled(self.planned.plan)
        if self._before_turns != self.planned.plan:
            # Keys are those that the process had which took the turns.
            plan = replace(plan, content_hash=compiled(self._before_turns).content_hash)
        check_readers(plan, options, self.context.models.profile)
        deployments = await check_pools(plan, folder, options)
        await check_gates(plan)
        acting = await check_toolsets(plan, toolsets, folder)
        records = {step.id: StepState.of(step) for step in plan.steps}
        if self.edits:
            keep_unchanged(folder, plan)
            if self.context.workspace is not None:
                await self.context.workspace.keep_finished()
        self._restored = restore_steps(folder, records)
        above = followed_above(folder, self.planned.planning)
        self.context = context = replace(
            self.context,
            deployments=deployments,
            irreversible=find_irreversible(plan.steps, acting),
            followed=FollowedSteps(above, self.planned.planning.forked_part),
            plan=plan,
            sizes=sizes_of(self.planned.plan, options),
            records=records,
        )
        replaced = sum(record.revision for record in records.values())
        replacements = Replacements(context, left=max(0, options.policy.replans - replaced))
        mitigations = self.recalled.mitigations if self.recalled else ()
        self._memories = Memories(context, _agents(self.planned.plan), mitigations)
        self._attempts = Attempts(context, replacements, self._memories)
        self._asking = Asking(context, Approvals(folder), self.edits)
        if self._turns is not None:
            self._turns.context, self._turns.asking = context, self._asking
            for turn in self._turns.taken:
                names = [step.id for step in turn.reply.steps]
                context.turn_runs.update(dict.fromkeys(names, turn.task_run))
        self._driver = Driver(context, self._attempts, self._asking, self._restored, self._turns)
        has_pages = _has_plan(folder)
        folder.write_plan(PlanRecord(plan.to_json(), self.edits))
        self._check_budget()
        if options.pages:
            live = LiveRun(
                context, self.planned.planning, self.recalled, folder.about().started_at or 0.0
            )
            self._pages = RunPages(live, has_pages)

    def _check_budget(self) -> None:
        """Check that the run can afford what the steps read at the least that nothing is done of.

        Raises:
            BudgetExceededError: It can't.
        """
        context, ledger = self.context, self.context.ledger
        accounts = ledger.accounts
        bookings = (*accounts.settled.values(), *accounts.open_bookings.values())
        begun = [each.step for each in bookings if is_step_id(each.step)]
        # A fork has outputs that another run paid for.
        begun += context.run.finished_steps()
        begun += [step.id for step in context.plan.steps if context.followed.has(step.id)]
        done = self._restored.union(map(root_of, begun))
        needed = least_of_plan(
            context.plan, context.sizes, context.options, ledger.prices.get, done
        )
        if problem := shortage(ledger.budget, ledger.spent, needed):
            raise BudgetExceededError(
                f"{'The rest of the plan' if done else 'The plan'} would {problem}.",
                f"{_RAISE} prefect-swarm resume {context.run.run_id} --max-tokens N",
            )

    async def drive(self) -> RunStatus | Literal["edited"]:
        """Run the steps until all are over; `edited` if another plan takes this one's place.

        Raises:
            RunCancelledError: The run was cancelled; what had finished is stored.
            RunWaitingError: It is left until a person has answered.
        """
        steps = self.context.plan.steps
        # Planning and the models' answers leave the time that a sandbox takes to start.
        with ready_for(gate_name(gate) for step in steps for gate in step.gates):
            await self._attempts.settle_prestarted(self._restored)
            if self._pages is not None:
                self._pages.start()
                self._bus.add(self._pages.handle)
            self.context.emit(_planned(self.context))
            async with self._shown_if_left():
                status = await self._driver.drive()
                if self._turns is not None:
                    self.planned = self.planned.model_copy(update={"plan": self._turns.plan})
                    self._memories.agents = _agents(self.planned.plan)
                records = self.context.records.values()
                if any(record.status == "cancelled" for record in records):
                    raise RunCancelledError("The run was cancelled on request.")
        if status == "edited":
            await self._close_pages(None)
        return status

    async def undo(self) -> None:
        """Undo what steps did that name how.

        Raises:
            RunWaitingError: It is left until a person has answered.
        """
        async with self._shown_if_left():
            self._undone = await undo_steps(self.context)

    async def answer(self) -> RunAnswer:
        """Have the answer made of the outputs that no other step read."""
        context = self.context
        if context.workspace is not None and (whole := await self._whole_patch(context.workspace)):
            return whole
        # What has to have a type is written under that.
        turns = self._turns if context.options.answer_schema is None else None
        if turns is not None and turns.answer is not None:
            return RunAnswer(turns.answer, trouble=turns.trouble)
        if part := self.planned.planning.forked_part:
            # What reads it is in the run that it is a part of.
            output = context.records[part].output
            return RunAnswer(output.text if output is not None else "")
        done_when = self.planned.plan.definition_of_done
        answering = Answering(context, done_when, answer_check())
        async with self._shown_if_left():
            with self._ending.noted("answer"):
                return await answering.answer(frontier(context.plan, context.records))

    async def _whole_patch(self, workspace: Workspace) -> RunAnswer | None:
        """Return all patches as one, held against the checks as a whole; None without any."""
        with self._ending.noted("answer"):
            await workspace.take_left(self.context.records)
            patch = await workspace.whole_patch()
            return RunAnswer(patch, trouble=await workspace.problem_of(patch)) if patch else None

    async def finish(self, status: RunStatus, answer: RunAnswer) -> SwarmResult:
        """Learn from the run, and write down what it came to."""
        async with self._shown_if_left():
            trouble = answer.trouble or self.planned.planning.broke_off or self._turn_problem
            if trouble and status == "completed":
                status = "partial"
            with self._ending.noted("memory"):
                taught = await self._memories.conclude(list(self.context.records.values()))
            result = self._result(status, answer, taught, self._problem(answer))
        self.context.run.write_result(result)
        self._warn_of_unstored()
        self.context.emit(_finished(result))
        await self._close_pages(result)
        return result

    @asynccontextmanager
    async def _shown_if_left(self) -> AsyncGenerator[None]:
        """Write down and show how far the run is where the work inside fails: it has no result."""
        try:
            yield
        except BaseException as error:
            for record in self.context.records.values():
                if record.attempts or record.reason:
                    save_step(self.context.run, record)
            problem = str(error)
            if not isinstance(error, RunWaitingError):
                why = f"It was left early{f': {problem}' if problem else '.'}"
                problem = f"{why} Resume with: prefect-swarm resume {self.context.run.run_id}"
            await self._close_pages(self._result("unfinished", RunAnswer(""), (), problem))
            raise

    async def _close_pages(self, result: SwarmResult | None) -> None:
        if (pages := self._pages) is not None:
            self._pages = None
            self._bus.remove(pages.handle)
            await pages.close(result)

    @property
    def _turn_problem(self) -> str:
        return self._turns.problem if self._turns else ""

    async def _is_directed(self) -> bool:
        """Whether the orchestrator goes on after the plan: one that has but a plan does not."""
        planning = self._unedited.planning
        is_its_own = planning.source == "orchestrator" or bool(planning.forked_turn)
        return (
            is_its_own
            and self.context.options.turns > 1
            and await reads_facts(self.context.options)
        )

    def _problem(self, answer: RunAnswer) -> str:
        """Say what went wrong, in all steps and with the answer; "" if nothing did."""
        records = list(self.context.records.values())
        failed = [
            f"{record.step.id}: {record.reason}{self._first_failed(record)}"
            for record in records
            if record.output is None and record.status == "failed" and not record.parent
        ]
        stopped = any(record.category is Category.BUDGET for record in records)
        ledger = self.context.ledger
        has_money_alone = ledger.budget.max_usd is not None and ledger.budget.max_tokens is None
        option = "--max-usd" if has_money_alone else "--max-tokens"
        option = "--timeout-s" if ledger.is_over else option
        advice = f"{_RAISE} prefect-swarm resume {self.context.run.run_id} {option} N"
        broke_off = self.planned.planning.broke_off
        broken = f"The plan broke off; what was complete of it was run. {broke_off}"
        parts = [
            self._asking.rejection,
            broken if broke_off else "",
            describe_undone(self._undone),
            *failed,
            self._turn_problem,
            answer.trouble,
            advice if stopped and not self._undone else "",
        ]
        return excerpt(" ".join(filter(None, parts)), 2000)

    def _first_failed(self, record: StepState) -> str:
        """Say why the first member failed of a step that did, and of that one's in its turn."""
        members = (self.context.records[name] for name in record.members)
        lost = next((member for member in members if member.status == "failed"), None)
        return f"; {lost.id}: {lost.reason}{self._first_failed(lost)}" if lost else ""

    def _result(
        self,
        status: RunStatus | Literal["unfinished"],
        answer: RunAnswer,
        taught: tuple[str, ...],
        problem: str,
    ) -> SwarmResult:
        context, planning = self.context, self.planned.planning
        records, plan = list(context.records.values()), context.plan
        decisions = (a.decision for record in records for a in record.attempts if a.decision)
        replanning = sum((decision.usage for decision in decisions), Usage())
        turns = self._turns.usage if self._turns else Usage()
        steps = step_results(records)
        upstream = needs_of_records(records)
        spent = time_of_run(context.run, steps, upstream, self._ending.stretches, self.clock())
        asked = (planning.usage, replanning, turns, answer.usage)
        calls = sum(usage.requests for usage in asked)
        parl = None
        if status != "unfinished":
            later = self._turns.counted if self._turns else ()
            taken = turns_of_run(planning.usage.requests, answer.usage.requests, later)
            parl = parl_of_run(context, self.planned.plan, steps, upstream, taken, status)
        total_s, stopped_s = (spent.total_s, stopped_among(steps, spent)) if spent else (0.0, 0.0)
        return SwarmResult(
            run_id=context.run.run_id,
            flow_run_id=context.flow_run_id,
            status=status,
            answer=answer.text,
            plan=self.planned.plan,
            content_hash=plan.content_hash,
            planning=planning,
            steps=steps,
            metrics=measure(steps, upstream, calls, total_s, stopped_s),
            parl=parl,
            time=spent,
            cost=Cost.of(context.ledger.accounts.usage),
            recall=self.recalled,
            taught=taught,
            problem=problem,
            undone=self._undone,
        )

    def _warn_of_unstored(self) -> None:
        if names := self.context.run.store_pending():
            _logger.warning(
                "There is still no room for %s in %s. Only this process has them: keep what it "
                "prints. Another one that resumes the run asks for them again.",
                ", ".join(names),
                self.context.run.place(),
            )


def _agents(plan: TaskIR) -> tuple[Agent, ...]:
    """Return the agents who do a plan's steps, those of plans inside steps, too."""
    placed = placed_steps(plan.agents, plan.steps)
    return tuple({each.agent.name: each.agent for each in placed}.values())


def _planned(context: RunContext) -> PlannedEvent:
    words = irreversible_words(context.irreversible)
    return PlannedEvent(steps=planned_steps(context.plan.steps), irreversible=words)


def _finished(result: SwarmResult) -> FinishedEvent:
    cost = result.cost
    return FinishedEvent(
        status=result.status,
        answer=result.answer,
        problem=result.problem,
        missing="" if result.status == "failed" else lost_words(lost_of(result.steps)),
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cost_usd=cost.money_usd,
    )


def _has_plan(run: RunStore) -> bool:
    try:
        return run.plan() is not None
    except RunDamagedError:
        return True
