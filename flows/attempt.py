"""One attempt at a step: it is carried out, and its failure is routed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from prefect.client.schemas.objects import State

from ..errors import (
    ApprovalNeededError,
    BudgetExceededError,
    Category,
    NoPlanError,
    StepWaivedError,
    SwarmError,
)
from ..metrics.clock import run_time
from ..models.request_context import waits_to
from ..plan.ids import root_of
from ..plan.schedule_events import AttemptFinished, Launch
from ..plan.task_ir import Tier
from ..store.attempt import Attempt, Decision, Usage, excerpt
from ..store.events import DecisionEvent
from ..store.step import StepState
from ..tasks.context import task_context
from ..tasks.failure_router import Bounds, route
from ..tasks.subagent.answer import cut_mark
from ..tasks.subagent.request import SubagentRequest
from ..workspace.repository import PatchError
from .candidate import Candidate, Candidates, Inspections
from .collect import collect_candidate
from .context import RunContext, save_step
from .control import wait_events
from .memory import Memories
from .plan_changes import Replacements
from .prefect_io.task_runs import states_of, task_runs_of
from .request import Summaries, attempt_request, failures_of
from .timing import AttemptTimes, StepSpans, other_answers

__all__ = ["Attempts"]

_DIFF_CHARS = 2000
_NO_MODEL = Decision(
    action="FAIL", rule="collect", reason="no model made it: another attempt would be the same"
)
_NOT_AGAIN = Decision(
    action="FAIL", rule="call", reason="a call that may have been made is not made again by itself"
)
_NOT_DRAWN = (BudgetExceededError, ApprovalNeededError)


@dataclass(slots=True)
class Attempts:
    """Runs attempts, and keeps what all of a run's attempts share.

    Attributes:
        memories: Where what ended is remembered.
        summaries: What is read in place of inputs that are too long.
        spans: The spans of the steps; the run's end closes them.
    """

    context: RunContext
    replacements: Replacements
    memories: Memories
    summaries: Summaries = field(init=False)
    spans: StepSpans = field(init=False)
    _times: dict[tuple[str, int], AttemptTimes] = field(
        init=False, default_factory=dict[tuple[str, int], AttemptTimes]
    )
    _candidates: Candidates = field(init=False)

    def __post_init__(self) -> None:
        light = asyncio.Semaphore(self.context.options.gate_concurrency)
        inspections = Inspections(self.context.emit, light)
        self._candidates = Candidates(self.context, inspections)
        self.summaries = Summaries(self.context)
        self.spans = StepSpans(self.context.records)

    async def run_attempt(self, launch: Launch, ready_at: float | None = None) -> AttemptFinished:
        """Run one attempt to its end and decide what follows.

        Args:
            launch: The schedule's command.
            ready_at: Since when it had waited for a slot; None if it had not.
        """
        self._begin_times(launch, ready_at)
        with waits_to(wait_events(self.context.emit, launch.step, launch.attempt)):
            return await self.spans.attempt(launch, self._run_attempt(launch))

    def _begin_times(self, launch: Launch, ready_at: float | None) -> None:
        """Note that an attempt is launched, unless it goes on after a person was asked."""
        now, name = run_time(), (launch.step, launch.attempt)
        if name not in self._times:
            self._times[name] = AttemptTimes(now if ready_at is None else ready_at, now)

    async def _run_attempt(self, launch: Launch) -> AttemptFinished:
        record = self.context.records[launch.step]
        decision = record.decision
        times = self._times[launch.step, launch.attempt]
        try:
            # An attempt that waited in its middle has been prepared, and is launched once more.
            if decision is not None and record.prepared < launch.attempt:
                await self._prepare(record, decision, times)
                record.prepare(launch.attempt)
            candidates = await self._make(record, launch, decision)
        except ApprovalNeededError as error:
            return AttemptFinished(launch.step, "asked", questions=error.questions)
        except StepWaivedError as error:
            record.end(str(error))
            return AttemptFinished(launch.step, "waived")
        except NoPlanError as error:
            record.add_reason(str(error))
            return AttemptFinished(launch.step, "skipped" if record.step.optional else "failed")
        except SwarmError as error:
            record.end(str(error), error.category)
            return AttemptFinished(launch.step, "skipped" if record.step.optional else "failed")
        return await self._conclude(record, launch, candidates)

    async def _prepare(self, record: StepState, decision: Decision, times: AttemptTimes) -> None:
        """Do what has to be done before the next attempt."""
        if decision.delay_s:
            with times.other.noted("delay"):
                await asyncio.sleep(decision.delay_s)
        if decision.action == "REPLAN":
            try:
                with times.other.noted("planning"):
                    step = await self.replacements.replacement_for(record)
            except SwarmError as error:
                record.note(outcome=str(error))
                raise
            record.replace_step(step)
        elif decision.action == "DELEGATE":
            other = self.context.options.policy.delegates[record.step.output.kind]
            record.delegate(other.name, self.context.plan.instructions_for(other.system_prompt))
        if record.change:
            save_step(self.context.run, record)

    async def _make(
        self, record: StepState, launch: Launch, decision: Decision | None
    ) -> list[Candidate]:
        """Return all candidates of an attempt that came to an end, the one that counts first."""
        if record.step.collect is not None:
            states = self._edges(record)
            return [await collect_candidate(self.context, self._candidates, record, launch, states)]
        if (workspace := self.context.workspace_of(record.step)) is not None:
            await workspace.prepare(record.id, launch.attempt, self.context.records)
        if record.step.call is not None:
            request = attempt_request(self.context, record, launch, None)
            self.context.ledger.take_over(request)
            return [await self._candidate(record, request, f"attempt {launch.attempt}")]
        best_of = record.step.best_of if decision is None else None
        judge = best_of.judge if best_of else None
        number = decision.samples if decision else best_of.samples if best_of else 1
        with self._times[launch.step, launch.attempt].other.noted("model"):
            fitting = await self.summaries.fitting(
                attempt_request(self.context, record, launch, decision), record
            )
        if number == 1:
            taken = decision is None and self._take_prestarted(fitting)
            request = fitting if taken else await self.context.ledger.reserve(fitting)
            return [await self._candidate(record, request, f"attempt {launch.attempt}")]
        # Whoever judges samples has to see all of them.
        won = None if judge else asyncio.Event()
        with task_context(won=won):

            async def draw(n: int) -> Candidate:
                sample = attempt_request(self.context, record, launch, decision, sample=n)
                read = {"upstream": fitting.upstream, "summarised": fitting.summarised}
                request = await self.context.ledger.reserve(sample.model_copy(update=read))
                label = f"attempt {launch.attempt}, sample {n} of {number}"
                candidate = await self._candidate(record, request, label)
                if candidate.category is None and won is not None:
                    won.set()
                return candidate

            drawn = await asyncio.gather(
                *(draw(n) for n in range(1, number + 1)), return_exceptions=True
            )
        made = [drawing for drawing in drawn if isinstance(drawing, Candidate)]
        broken = [drawing for drawing in drawn if isinstance(drawing, BaseException)]
        _require_no_person(made, broken)
        # What the budget has no room for isn't drawn; only if that is all of them it is a failure.
        if not made or not all(isinstance(error, _NOT_DRAWN) for error in broken):
            raise broken[0]
        made.sort(key=lambda made: (made.category is None, made.progress), reverse=True)
        if judge is None:
            return made
        return await self._candidates.choose(judge, fitting, made, f"attempt {launch.attempt}")

    async def settle_prestarted(self, done: Collection[str]) -> None:
        """Withdraw what was asked ahead of the plan and isn't a first request of its steps.

        Args:
            done: The steps that are over already.
        """
        roots = [step for step in self.context.plan.steps if step.is_root]
        await self.context.prestarted.settle_on(
            attempt_request(self.context, self.context.records[step.id], launch, None)
            for step in roots
            if step.id not in done
            for launch in (Launch(step.id, 1, step.tier),)
        )

    def _take_prestarted(self, request: SubagentRequest) -> bool:
        """Whether its answer was asked for ahead of the plan; not for a step that begins again."""
        if self.context.restart_counts.get(request.step):
            return False
        return self.context.prestarted.take(request)

    async def _candidate(
        self, record: StepState, request: SubagentRequest, label: str
    ) -> Candidate:
        return await self._candidates.make(record.step, request, self._edges(record), label)

    def _edges(self, record: StepState) -> Sequence[State[Any] | None]:
        upstream = record.step.upstream
        before = [run for name in upstream for run in self.context.records[name].task_runs]
        # A step of a later turn comes after that turn, whatever else it needs.
        turn = self.context.turn_runs.get(root_of(record.id), "")
        edges = [*before, *record.task_runs, *filter(None, [turn])]
        return states_of(edges) if edges else [self.context.plan_state]

    async def _conclude(
        self, record: StepState, launch: Launch, candidates: Sequence[Candidate]
    ) -> AttemptFinished:
        before, artifact = record.attempts, candidates[0].artifact
        finished = await self._judge(record, launch, candidates)
        if record.decision and record.decision.action == "KEEP":
            finished = await self._keep(record, launch, candidates[0])
        times = self._times.pop((launch.step, launch.attempt))
        known = len(times.other.stretches)
        with times.other.noted("memory"):
            await self.memories.remember(record, record.attempts[-1], before, artifact)
        record.note_time(times.other.stretches[known:])
        return finished

    async def _keep(self, record: StepState, launch: Launch, cut: Candidate) -> AttemptFinished:
        """Take a text that is cut off, marked as such, if it passes the step's gates."""
        tokens = sum(
            attempt.usage.output_tokens
            for attempt in record.attempts
            if attempt.category is Category.TRUNCATED and attempt.revision == record.revision
        )
        text = cut.result.text.rstrip() + cut_mark(tokens)
        result = cut.result.model_copy(update={"text": text, "category": None})
        made = replace(cut, result=result)
        kept = await self._candidates.check(record.step, made, f"attempt {launch.attempt}, kept")
        if kept.category is not None:
            record.add_reason(f"What there is of the text isn't kept: {kept.error}")
            return AttemptFinished(launch.step, "skipped" if record.step.optional else "failed")
        ref = await self._store_output(launch.step, kept.artifact)
        record.keep(kept.artifact, ref, task_runs_of(kept.states))
        return AttemptFinished(launch.step, "succeeded")

    async def _judge(
        self, record: StepState, launch: Launch, candidates: Sequence[Candidate]
    ) -> AttemptFinished:
        best = await self._taken(record, launch.attempt, candidates[0])
        candidates = [best, *candidates[1:]]
        times = self._times[launch.step, launch.attempt]
        attempt = _attempt(record, launch, candidates, times)
        task_runs = task_runs_of(best.states)
        if best.category is None:
            ref = await self._store_output(launch.step, best.artifact)
            record.succeed(attempt, best.artifact, ref, task_runs)
            return AttemptFinished(launch.step, "succeeded")
        final = _NO_MODEL if record.step.collect else _NOT_AGAIN if record.step.call else None
        decision = final or self._route(record, attempt)
        self._emit_decision(launch, decision)
        record.fail(attempt, decision, best.artifact, best.progress, task_runs)
        if best.category is Category.TRUNCATED:
            record.note_partial_text(best.result.text)
        if decision.tier is not None:
            asks = decision.action == "ASK"
            return AttemptFinished(launch.step, "retry", decision.tier, asks)
        is_skip = decision.action == "SKIP" or (final is not None and record.step.optional)
        return AttemptFinished(launch.step, "skipped" if is_skip else "failed")

    async def _taken(self, record: StepState, attempt: int, best: Candidate) -> Candidate:
        """Take a patch among those of the run; it comes back as a failure where it conflicts."""
        workspace = self.context.workspace
        if workspace is None or best.category is not None or record.step.output.kind != "patch":
            return best
        try:
            why = await workspace.take(record, attempt, self.context.records, best.artifact)
            category = Category.CONFLICT
        except PatchError as error:
            why, category = str(error), Category.FORMAT
        if not why:
            return best
        failed = best.result.model_copy(
            update={"text": best.artifact, "category": category, "error": why}
        )
        return replace(best, result=failed)

    async def _store_output(self, step: str, artifact: str) -> str:
        return await asyncio.to_thread(self.context.run.write_output, step, artifact)

    def _emit_decision(self, launch: Launch, decision: Decision) -> None:
        self.context.emit(
            DecisionEvent(
                step=launch.step,
                attempt=launch.attempt,
                action=decision.action,
                rule=decision.rule,
                reason=excerpt(decision.reason),
                tier=decision.tier,
            )
        )

    def _route(self, record: StepState, attempt: Attempt) -> Decision:
        policy = self.context.options.policy
        bounds = Bounds(
            max_attempts=record.step.max_attempts,
            ladder=self.context.options.ladder(
                record.step.max_tier, self.context.plan.task_type, record.step.tier
            ),
            optional=record.step.optional,
            replans_left=self.replacements.left,
            can_delegate=record.step.output.kind in policy.delegates,
            can_keep=record.step.output.kind == "text" and not record.step.output.form,
            known=self.memories.mitigations,
        )
        *before, last = failures_of(record, attempt)
        symptom = self.memories.symptom(record, attempt)
        return route([*before, replace(last, symptom=symptom)], policy, bounds)


def _require_no_person(made: Sequence[Candidate], broken: Sequence[BaseException]) -> None:
    """Have a person asked for samples that wait for them, unless another one passed.

    Raises:
        ApprovalNeededError: It names what all of them ask.
    """
    waiting = [error for error in broken if isinstance(error, ApprovalNeededError)]
    if not waiting or any(candidate.category is None for candidate in made):
        return
    names = dict.fromkeys(name for error in waiting for name in error.questions)
    raise ApprovalNeededError(waiting[0].problem, waiting[0].fix, tuple(names))


def _attempt(
    record: StepState, launch: Launch, candidates: Sequence[Candidate], times: AttemptTimes
) -> Attempt:
    best = candidates[0]
    result = best.result
    reviews = [review for candidate in candidates for review in candidate.reviews]
    results = [*(candidate.result for candidate in candidates), *reviews]
    others = other_answers(result, results)
    waits = (wait for answer in (result, *reviews) for wait in answer.waits)
    return Attempt(
        number=launch.attempt,
        agent=record.step.agent,
        revision=record.revision,
        samples=len(candidates),
        tier=cast("Tier", launch.tier),
        model=result.model,
        ready_at=times.ready_at,
        launched_at=times.launched_at,
        started_at=min(candidate.result.started_at for candidate in candidates),
        ended_at=result.ended_at,
        queue_s=result.queue_s,
        stretches=(*times.other.stretches, *waits, *others),
        usage=sum((answer.usage for answer in results), Usage()),
        category=best.category,
        error=best.error,
        extraction=result.extraction,
        gates=tuple(
            result.model_copy(update={"repaired": None, "diff": excerpt(result.diff, _DIFF_CHARS)})
            for result in (best.pipeline_result.results if best.pipeline_result else ())
        ),
        tokens_saved=sum(candidate.result.tokens_saved for candidate in candidates),
        left_out=result.left_out,
        calls=result.calls,
        compactions=result.compactions,
    )
