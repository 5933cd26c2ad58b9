"""The orchestrator's turns in a run: it is asked, and the plan goes on as it decides."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from ..errors import BudgetExceededError, Category, InputError, ModelError, PlanError, SwarmError
from ..metrics.clock import run_time
from ..metrics.parl import OrchestratorTurn
from ..plan.compile import CompiledStep, StepDefaults, StepRecall, compile_plan
from ..plan.irreversible import IrreversibleStep, find_irreversible
from ..plan.output import StepOutput
from ..plan.procedure_steps import resolve_steps
from ..plan.schedule_events import OVER, PlanExtended, TurnCause
from ..plan.task_ir import PlanRules, TaskIR
from ..plan.turns import TurnReply, ended_by, extend_plan, next_number
from ..store.approvals import Approvals
from ..store.attempt import Usage, excerpt
from ..store.events import AnsweringEvent, DirectingEvent, TextEvent, TurnEvent
from ..store.messages import UserMessage
from ..store.procedures import StoredProcedure, find_procedure
from ..store.protocol import PlanRecord
from ..store.question import is_approval
from ..store.step import StepState
from ..tasks.planner.facts import PlanningFacts, listing, notes_of, offered_procedures
from ..tasks.planner.facts_text import facts_text, room_for
from ..tasks.planner.grammar import turn_grammar
from ..tasks.planner.program import may_depend
from ..tasks.planner.task import Planned
from ..tasks.planner.turns import (
    Remaining,
    StepLine,
    direct,
    first_exchange,
    fitting,
    read_turn,
    turn_request,
    turns_instructions,
)
from ..tasks.subagent.answer import cut_mark
from ..tasks.subagent.compaction import room_in
from ..tasks.subagent.request import (
    Exchange,
    SubagentRequest,
    SubagentResult,
    prompt_of,
    tokens_of,
)
from ..text import plural
from .answer import WRITTEN_AGAIN
from .approval import Asking, turn_question
from .context import RunContext, frontier, planned_steps
from .estimate import least_of_members, shortage, sizes_of
from .event_log import text_events
from .memory import recall_for
from .messages import Inbox
from .picture_readers import check_readers
from .planning import plan_rules
from .prefect_io.task_runs import result_in, states_of, task_run_of
from .preflight import check_gates, check_toolsets
from .stored_plan import StoredFacts, StoredTurn, load
from .subagents import ask_orchestrator

__all__ = ["Turns"]

_logger = logging.getLogger("prefect_swarm.runs")
_TRIES = 2
_PARTS = 3
"""Requests that an answer may take that is cut off."""
_FINISHED = "the orchestrator has finished"
_OVER = "all of its steps are over, and it is about to end"


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a turn shows of the run."""

    lines: tuple[StepLine, ...]
    outputs: tuple[StepOutput, ...]
    seen: tuple[str, ...]
    task_runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Extension:
    """What a reply makes of the plan: the whole of it, and the steps that are new, compiled."""

    reply: TurnReply
    plan: TaskIR
    added: tuple[CompiledStep, ...] = ()
    irreversible: tuple[IrreversibleStep, ...] = ()


@dataclass(slots=True)
class Turns:
    """Asks the orchestrator, and adds to the plan what it decides.

    Attributes:
        first: What the first turn came to.
        plan: The plan so far.
        taken: The turns after the first one.
        edits: How often the plan was edited.
        waiting: A turn about which a person has not decided yet.
        asking: What a person is asked.
        problem: Why a turn came to nothing; "" if none did.
        trouble: What is wrong with the answer that it has written; "" if nothing is.
        inbox: What a person writes to it.
    """

    context: RunContext
    first: Planned
    plan: TaskIR
    taken: list[StoredTurn]
    edits: int = 0
    waiting: StoredTurn | None = None
    asking: Asking | None = None
    problem: str = field(init=False, default="")
    trouble: str = field(init=False, default="")
    inbox: Inbox = field(init=False)
    _rules: PlanRules = field(init=False)
    _made: _Extension | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._rules = plan_rules(self.context.options, self.context.toolsets.names)
        last = max((n for turn in self.taken for n in turn.messages), default=0)
        self.inbox = Inbox(self.context.run, self.context.emit, last)

    @property
    def answer(self) -> str | None:
        """The answer that it has written; None before it has."""
        return self.taken[-1].reply.answer if self.taken else None

    @property
    def usage(self) -> Usage:
        """What all turns took, without the first."""
        return sum((turn.usage for turn in self.taken), Usage())

    @property
    def left(self) -> int:
        """How many turns it may have yet."""
        is_over = bool(self.problem) or bool(self.taken and self.taken[-1].reply.is_last)
        return 0 if is_over else max(0, self.context.options.turns - 1 - len(self.taken))

    @property
    def advice(self) -> tuple[StepRecall, ...]:
        """What the memory made of the steps that turns have added."""
        return tuple(each for turn in self.taken for each in turn.recall)

    @property
    def counted(self) -> tuple[OrchestratorTurn, ...]:
        """The turns after the first, for the figures that are counted over them."""
        return tuple(
            OrchestratorTurn(
                turn.number,
                turn.usage.requests,
                tuple(step.id for step in turn.reply.steps),
                turn.seen,
            )
            for turn in self.taken
        )

    def begin(self) -> PlanExtended:
        """Return what the turns that were taken before say of a plan that goes on with them."""
        if self.left:
            # An earlier process may have closed them, and ended before the run was over.
            self.inbox.reopen()
        # A person may have edited some of them away.
        names = {step.id for step in self.plan.steps}
        ended = (ended_by(turn.reply, self.plan.steps) for turn in self.taken)
        given_up = names & frozenset[str]().union(*ended)
        without = names & {name for turn in self.taken for name in turn.without}
        look_after = self.taken[-1].reply.look_after if self.taken else self.first.look_after
        return PlanExtended(
            (),
            given_up=tuple(given_up),
            without=frozenset(without),
            look_after=frozenset(names & {*look_after} - self._seen) if self.left else None,
        )

    async def take(self, cause: TurnCause) -> PlanExtended:
        """Have a turn, and return what follows from it; whatever happens, the run goes on."""
        self.inbox.look()
        if cause == "over" and not self.inbox.unread and not self._has_to_answer():
            if self.inbox.close(_OVER):
                return PlanExtended(())
            self.inbox.look()
        try:
            return await self._take(cause)
        except BudgetExceededError as error:
            self.problem = f"The orchestrator could not be asked again: {error}"
        except SwarmError as error:
            self.problem = f"Turn {len(self.taken) + 2} can't be taken: {error.problem}"
        _logger.warning("%s The run goes on with the plan that there is.", self.problem)
        self.inbox.close_for_good("its orchestrator could not be asked again")
        return PlanExtended(())

    def _has_to_answer(self) -> bool:
        """Whether something has failed, or the answer has to be written from several outputs."""
        context = self.context
        if self._failed() or (self._is_directing and self._shown().outputs):
            return True
        last = frontier(context.plan, context.records)
        outputs = [record.output for record in last if record.output is not None]
        is_written = len(outputs) > 1 and all(output.kind == "text" for output in outputs)
        return is_written and context.options.answer_schema is None

    @property
    def _is_directing(self) -> bool:
        """Whether it has asked to see results, and is not only the one who planned."""
        return bool(self.taken or self.first.look_after)

    @property
    def _seen(self) -> frozenset[str]:
        """Ids of the steps that were over when it had its last turn."""
        return frozenset(self.taken[-1].seen if self.taken else ())

    def _failed(self) -> tuple[str, ...]:
        known = {name for turn in self.taken for name in turn.without}
        return tuple(
            record.id
            for record in self.context.records.values()
            if not record.parent
            and record.now in ("failed", "skipped")
            and not record.by_condition
            and record.id not in known
        )

    async def _take(self, cause: TurnCause) -> PlanExtended:
        turn, self.waiting = self.waiting, None
        # One that waited for a person while they edited the plan is about another plan.
        if turn is None or turn.edits != self.edits:
            turn = await self._asked(cause)
        if turn.waits:
            await self._store(turn)
            turn = await self._decided(turn)
        self.inbox.take(turn.messages)
        turn = self._with_messages_open(turn)
        made = await self._extension(turn.reply, turn.recall)
        given_up = self._given_up(turn.reply)
        await self._store(turn)
        self.taken.append(turn)
        self.plan = made.plan
        return self._extend(turn, made.added, given_up)

    def _with_messages_open(self, turn: StoredTurn) -> StoredTurn:
        """Return a turn that closes the messages if it is the last one.

        Where another message has come meanwhile, it isn't: the answer waits for the turn with that.
        """
        if turn.number >= self.context.options.turns:
            self.inbox.close_for_good(
                f"its orchestrator has had its {self.context.options.turns} turns"
            )
        elif turn.reply.is_last and not self.inbox.close(_FINISHED):
            update = {"answer": None, "final_step": None}
            return turn.model_copy(update={"reply": turn.reply.model_copy(update=update)})
        return turn

    async def _asked(self, cause: TurnCause) -> StoredTurn:
        """Ask the orchestrator, and return what it decides.

        Raises:
            BudgetExceededError: The run can't afford the question.
            ModelError: It can't be asked.
            PlanError: It twice wrote what can't be taken.
        """
        number, failed, shown = len(self.taken) + 2, self._failed(), self._shown()
        messages = tuple(self.inbox.unread)
        began_at = run_time()
        self.context.emit(DirectingEvent(number_of_turn=number, cause=cause))
        request = self._request(cause, number, shown, messages)
        problem: PlanError | None = None
        asked = prompt_of(request)
        usage, work_s = Usage(), 0.0
        for attempt in range(1, _TRIES + 1):
            if problem is not None:
                again = {"key": f"{request.key}.{attempt}", "feedback": str(problem)}
                request = request.model_copy(update=again)
            result, task_run = await self._ask(request, shown.task_runs)
            usage, work_s = usage + result.usage, work_s + result.work_s
            try:
                reply = self._read(_usable(result), may_answer=cause == "over")
                plan = extend_plan(self.plan, reply, self._rules, self._without_output())
                recall = await self._recalled(plan, reply)
                self._made = await self._compiled(plan, reply, recall)
                self._check_budget(self._made)
            except PlanError as error:
                problem = error
                continue
            approve = self.context.options.approve
            acts = "acting" in approve and bool(self._made.irreversible)
            return StoredTurn(
                number=number,
                cause=cause,
                asked=asked,
                answered=result.text,
                reply=reply,
                seen=shown.seen,
                without=failed if reply.steps else (),
                edits=self.edits,
                recall=recall,
                messages=tuple(message.number for message in messages),
                began_at=began_at,
                waits=acts or ("turns" in approve and bool(reply.steps or reply.given_up)),
                usage=usage,
                work_s=work_s,
                task_run=task_run,
            )
        raise problem or PlanError("The turn is empty.", "")

    def _read(self, text: str, *, may_answer: bool) -> TurnReply:
        """Return what it wrote, with the steps of procedures in the assignments that are one.

        Raises:
            PlanError: It is no turn, or breaks a rule.
        """
        offered = offered_procedures(self._planning_facts())

        def find(reference: str) -> StoredProcedure:
            if reference.partition("@")[0] not in offered:
                known = ", ".join(sorted(offered)) or "none"
                raise InputError(f"There is no procedure {reference!r}.", f"There are {known}.")
            return find_procedure(reference)

        reply = read_turn(text, self.plan, may_answer=may_answer, procedures=offered)
        agents = (*self.plan.agents, *reply.agents)
        return reply.model_copy(update={"steps": resolve_steps(reply.steps, agents, find)})

    async def _store(self, turn: StoredTurn) -> None:
        run = self.context.run
        await asyncio.to_thread(run.write_record, "turn", turn, str(turn.number))

    async def _decided(self, turn: StoredTurn) -> StoredTurn:
        """Return a turn as a person has decided about it."""
        made = await self._extension(turn.reply, turn.recall)
        given_up = tuple(self._given_up(turn.reply))
        text = turn.reply.model_dump_json()
        subject = hashlib.sha256(f"{self.context.key}\n{turn.number}\n{text}".encode()).hexdigest()
        question = turn_question(
            turn.number, made.added, given_up, subject, run_time(), made.irreversible
        )
        answer = Approvals(self.context.run).decision(question.id, subject)
        if answer is None and self.asking is not None:
            answer = await self.asking.decide(question)
        if is_approval(answer):
            return turn.model_copy(update={"waits": False})
        words = answer.words if answer is not None else "Nobody was asked."
        update = {"waits": False, "refused": words, "reply": TurnReply(), "without": ()}
        return turn.model_copy(update=update)

    def _given_up(self, reply: TurnReply) -> dict[str, str]:
        """Return the steps that a turn ends, and why."""
        records = self.context.records
        reasons = {
            each.step: f"the orchestrator gave it up{f': {each.why}' if each.why else ''}"
            for each in reply.given_up
        }
        ended = ended_by(reply, self.plan.steps)
        return {
            step.id: reasons.get(step.id, _FINISHED)
            for step in self.plan.steps
            if step.id in ended and records[step.id].now not in OVER
        }

    def _without_output(self) -> frozenset[str]:
        over = (record for record in self.context.records.values() if record.now in OVER)
        return frozenset(record.id for record in over if record.output is None)

    def _shown(self) -> _Shown:
        seen = set(self._seen)
        lines: list[StepLine] = []
        outputs: list[StepOutput] = []
        runs: list[str] = []
        for record in [each for each in self.context.records.values() if not each.parent]:
            reason = record.reason or record.summary
            status = record.now
            if record.id not in seen and record.output is not None:
                outputs += self.context.outputs_of(record.id)
                runs += record.task_runs
            if status in OVER:
                seen.add(record.id)
            lines.append(StepLine(record.id, record.agent, status, reason))
        return _Shown(tuple(lines), tuple(outputs), tuple(seen), tuple(runs))

    def _request(
        self, cause: TurnCause, number: int, shown: _Shown, messages: Sequence[UserMessage]
    ) -> SubagentRequest:
        context = self.context
        toolsets, inputs = context.toolsets.names, notes_of(context.inputs)
        program = may_depend(context.objective, inputs, toolsets)
        offered = frozenset(toolsets)
        rules = self._rules._replace(
            inputs=frozenset(context.inputs),
            toolsets=offered,
            procedures=offered_procedures(self._planning_facts()),
        )
        history = [
            first_exchange(context.objective, (listing(inputs), self._facts()), self.first.plan),
            *(Exchange(asked=turn.asked, answered=turn.answered) for turn in self.taken),
        ]
        ledger = context.ledger
        budget, spent = ledger.budget, ledger.spent
        remaining = Remaining(
            turns=context.options.turns - number,
            steps=max(0, self._rules.max_steps - len(self.plan.steps)),
            tokens=None if budget.max_tokens is None else max(0, budget.max_tokens - spent.tokens),
            usd=None if budget.max_usd is None else max(0.0, budget.max_usd - spent.usd),
            seconds=ledger.seconds_left,
        )
        request = turn_request(
            cause,
            shown.lines,
            shown.outputs,
            remaining,
            number=number,
            next_step=next_number(self.plan.steps),
            done_when=self.plan.definition_of_done if cause == "over" else (),
            refused=self.taken[-1].refused if self.taken else "",
            edited=self.plan if self.edits > (self.taken[-1].edits if self.taken else 0) else None,
            messages=[message for message in messages if message.text],
            how=turns_instructions(rules, program=program),
            grammar=turn_grammar(rules, program=program, may_answer=cause == "over"),
            key=f"{context.key}.turn.{number}",
            run=context.flow_run_id,
            model=context.options.model_of("orchestrator"),
            limits=context.limits,
        )
        fitted, left_out = fitting(history, self._room(request))
        if left_out:
            words = plural(left_out, "earlier turn")
            _logger.info("Turn %d reads %s without what was shown then.", number, words)
        return request.model_copy(update={"history": fitted})

    def _room(self, request: SubagentRequest) -> int:
        """Return the tokens that the orchestrator's model has for the turns before."""
        profile = self.context.models.profile(request.model)
        if profile.context_tokens is None:
            return sys.maxsize
        room = room_in(profile.context_tokens, request.max_output_tokens)
        return max(0, room - tokens_of(request.instructions) - tokens_of(prompt_of(request)))

    def _events(self, request: SubagentRequest) -> AbstractContextManager[None]:
        """Emit what is written, where that is the answer."""
        if request.output != "text":
            return nullcontext()
        emit, of_providers = self.context.emit, self.context.options.stream_text
        emit(AnsweringEvent(attempt=1))
        return text_events(emit, TextEvent(attempt=1), of_providers=of_providers)

    def _planning_facts(self) -> PlanningFacts | None:
        stored = load(self.context.run, StoredFacts)
        return stored.facts if stored is not None else None

    def _facts(self) -> str:
        """Return what the orchestrator is shown of the swarm, as it was for the plan."""
        if (facts := self._planning_facts()) is None:
            return ""
        model = self.context.options.model_of("orchestrator")
        room = room_for(self.context.models.profile(model).context_tokens)
        return facts_text(facts, room).text

    async def _ask(
        self, request: SubagentRequest, after: Sequence[str]
    ) -> tuple[SubagentResult, str]:
        """Return what it wrote, and the task run; an answer is written on where it is cut off.

        Args:
            request: What it is asked.
            after: The task runs of what it is shown.

        Raises:
            BudgetExceededError: The run can't afford the question.
            ModelError: It can't be asked.
        """
        result, task_run = await self._ask_once(request, after)
        usage = result.usage
        for part in range(2, _PARTS + 1):
            if request.output != "text" or result.category is not Category.TRUNCATED:
                break
            update = {"key": f"{request.key}.part{part}", "begun": result.text}
            result, task_run = await self._ask_once(request.model_copy(update=update), after)
            usage += result.usage
        if request.output == "text" and result.category is Category.TRUNCATED:
            self.trouble = f"The answer is cut off: {result.error}"
            text = result.text.rstrip() + cut_mark(usage.output_tokens)
            result = result.model_copy(update={"text": text, "category": None})
        return result.model_copy(update={"usage": usage}), task_run

    async def _ask_once(
        self, request: SubagentRequest, after: Sequence[str]
    ) -> tuple[SubagentResult, str]:
        context = self.context
        request = await context.ledger.reserve(request)
        state, content = await ask_orchestrator(
            context.ledger,
            direct,
            request,
            name=f"Turn {request.attempt}, orchestrator",
            wait_for=states_of(after),
            control=context.control,
            streaming=self._events(request),
        )
        if (result := result_in(content)) is None:
            raise ModelError(f"the orchestrator didn't answer: {content!r}", "Resume the run.")
        if result.category is not None and result.category not in {*WRITTEN_AGAIN, Category.SCHEMA}:
            raise ModelError(excerpt(result.error, 300), "Resume the run.")
        return result, task_run_of(state)

    def _extend(
        self, turn: StoredTurn, added: tuple[CompiledStep, ...], given_up: Mapping[str, str]
    ) -> PlanExtended:
        """Add to the run what a turn has decided."""
        context, reply = self.context, turn.reply
        steps = (*context.plan.steps, *added)
        context.plan = replace(context.plan, steps=steps, final_step=self.plan.final_step)
        context.sizes = sizes_of(self.plan, context.options)
        context.records.update({step.id: StepState.of(step) for step in added})
        context.turn_runs.update(dict.fromkeys([step.id for step in added], turn.task_run))
        context.run.write_plan(PlanRecord(context.plan.to_json(), self.edits))
        for name, why in given_up.items():
            context.records[name].end(why)
        context.emit(_event(turn, added, tuple(given_up)))
        wanted = "steps" in context.options.approve
        return PlanExtended(
            added,
            approval=frozenset(step.id for step in added if wanted and step.approval),
            given_up=tuple(given_up),
            without=frozenset(turn.without),
            look_after=frozenset({*reply.look_after} - self._seen) if self.left else None,
        )

    async def _recalled(self, plan: TaskIR, reply: TurnReply) -> tuple[StepRecall, ...]:
        if not reply.steps:
            return ()
        names = {step.id for step in reply.steps}
        added = tuple(step for step in plan.steps if step.id in names)
        alone = plan.model_copy(update={"steps": added, "final_step": None})
        recall, _ = await recall_for(self.context, alone)
        return recall.steps if recall else ()

    def _check_budget(self, made: _Extension) -> None:
        """Refuse steps of which it is certain that the run can't pay for them.

        Raises:
            PlanError: It can't.
        """
        context, ledger = self.context, self.context.ledger
        sizes = sizes_of(made.plan, context.options)
        extended = replace(context.plan, steps=(*context.plan.steps, *made.added))
        needed = least_of_members(made.added, extended, sizes, context.options, ledger.prices.get)
        if problem := shortage(ledger.budget, ledger.spent, needed):
            raise PlanError(f"The assignments would {problem}.", "Assign less, or finish.")

    async def _extension(self, reply: TurnReply, recall: Sequence[StepRecall]) -> _Extension:
        """Return what a reply makes of the plan; what was asked for just now is there already."""
        if self._made is None or self._made.reply != reply:
            plan = extend_plan(self.plan, reply, self._rules)
            self._made = await self._compiled(plan, reply, recall)
        return self._made

    async def _compiled(
        self, plan: TaskIR, reply: TurnReply, recall: Sequence[StepRecall]
    ) -> _Extension:
        """Compile the steps that a reply adds, and check what they need."""
        if not reply.steps:
            return _Extension(reply, plan)
        options, toolsets = self.context.options, self.context.toolsets
        defaults = StepDefaults(options.max_attempts, options.gates)
        compiled = compile_plan(plan, defaults, recall=recall, toolsets=toolsets.names)
        try:
            check_readers(compiled, options, self.context.models.profile)
        except (InputError, ModelError) as error:
            raise PlanError(error.problem, "Assign it to another tier, or without it.") from None
        await check_gates(compiled)
        acting = await check_toolsets(compiled, toolsets, self.context.run)
        names = {step.id for step in reply.steps}
        added = tuple(step for step in compiled.steps if step.id in names)
        return _Extension(reply, plan, added, find_irreversible(added, acting))


def _usable(result: SubagentResult) -> str:
    """Return what was written, if it was written to its end.

    Raises:
        PlanError: It wasn't.
    """
    if result.category in (None, Category.FORMAT, Category.SCHEMA):
        return result.text
    raise PlanError(excerpt(result.error, 300), "Write it anew.", result.text)


def _event(turn: StoredTurn, added: Sequence[CompiledStep], given_up: Sequence[str]) -> TurnEvent:
    return TurnEvent(
        number_of_turn=turn.number,
        cause=turn.cause,
        steps=planned_steps(added),
        given_up=tuple(given_up),
        look_after=turn.reply.look_after,
        finished=turn.reply.is_last,
        messages=turn.messages,
    )
