"""One attempt at a step: budget, subagent, gates, and what a failure leads to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from prefect.client.schemas.objects import State
from pydantic_ai.exceptions import ModelAPIError

from ..errors import BudgetExceededError, Category, SwarmError
from ..gates import GateResult
from ..result import Attempt, Decision
from ..runs import Run
from ..task_ir import Tier
from ..tasks.artifact import extract
from ..tasks.assignment import Assignment, Upstream, Verdict
from ..tasks.failure_router import Failure, Policy, route
from ..tasks.gate import Inspection, gate
from ..tasks.subagent import subagent
from .events import AttemptFinished, Launch
from .ledger import Ledger
from .options import SwarmOptions
from .records import StepRecord
from .task_run import run_task

__all__ = ["Attempts"]


@dataclass(slots=True)
class Attempts:
    """Runs attempts, and keeps what all of a run's attempts share.

    Attributes:
        key: Begins the cache key of each attempt: flow run and plan.
        again: How often each step was begun again after its run had failed; see `Run.begin_again`.
        inputs: The plan's own inputs, which steps without upstream read.
        waits_for: The Prefect state that a step without upstream waits for; the plan's.
        ledger: What the run may still spend.
    """

    run: Run
    flow_run_id: str
    key: str
    options: SwarmOptions
    records: Mapping[str, StepRecord]
    waits_for: State[Any] | None
    ledger: Ledger
    inputs: tuple[Upstream, ...] = ()
    again: Mapping[str, int] = field(default_factory=dict[str, int])
    clock: Callable[[], float] = time.time

    async def run_attempt(self, launch: Launch) -> AttemptFinished:
        """Run one attempt to its end and decide what follows."""
        record = self.records[launch.step]
        assignment = self._assignment(record, launch)
        try:
            assignment = await self.ledger.reserve(assignment)
        except BudgetExceededError as error:
            record.category, record.reason = error.category, f"{error.category}: {error}"
            return AttemptFinished(launch.step, "skipped" if record.step.optional else "failed")
        tokens: int | None = None
        try:
            state, verdict = await self._ask(record, assignment, launch)
            # What a model wrote before its time was up nobody counted.
            tokens = None if verdict.category is Category.TIMEOUT else verdict.usage.tokens
        finally:
            self.ledger.settle(launch.step, tokens)
        record.state = state
        artifact = extract(verdict.text, record.step.output.kind)
        gates: tuple[GateResult, ...] = ()
        if verdict.category is None:
            gates = await self._check(record, assignment, artifact)
        return self._conclude(record, launch, verdict, gates, artifact)

    def _assignment(self, record: StepRecord, launch: Launch) -> Assignment:
        step, options = record.step, self.options
        tier = cast("Tier", launch.tier)
        schema = step.output.json_schema
        again = self.again.get(step.id, 0)
        return Assignment(
            key=f"{self.key}.{step.id}{f'-{again}' if again else ''}.{launch.attempt}",
            run=self.flow_run_id,
            step=step.id,
            agent=step.agent,
            attempt=launch.attempt,
            tier=tier,
            model=options.model_of(tier),
            instructions=step.instructions,
            prompt=step.prompt,
            upstream=self._upstream(step.upstream) if step.upstream else self.inputs,
            feedback=_feedback(record.attempts),
            output=step.output.kind,
            output_schema=json.dumps(schema, sort_keys=True) if schema else "",
            seed=options.seed + launch.attempt - 1,
            timeout_s=step.timeout_s,
            **options.call_limits(),
        )

    def _upstream(self, ids: Sequence[str]) -> tuple[Upstream, ...]:
        above = [self.records[name] for name in ids]
        return tuple(
            Upstream(step=record.step.id, agent=record.step.agent, text=record.text)
            for record in above
            if record.text is not None
        )

    async def _ask(
        self, record: StepRecord, assignment: Assignment, launch: Launch
    ) -> tuple[State[Any], Verdict]:
        started = self.clock()
        state, content = await run_task(
            subagent,
            assignment,
            name=f"{assignment.step} · {record.step.agent} · attempt {launch.attempt}",
            wait_for=self._edges(record),
        )
        if isinstance(content, dict):
            return state, _within_run(Verdict.model_validate(content), record)
        known = isinstance(content, SwarmError | ModelAPIError)
        verdict = Verdict(
            model=assignment.model,
            started_at=started,
            ended_at=self.clock(),
            category=Category.INFRASTRUCTURE,
            error=str(content) if known else repr(content),
        )
        return state, verdict

    def _edges(self, record: StepRecord) -> list[State[Any] | None]:
        edges = [self.records[name].state for name in record.step.upstream]
        return [*edges, record.state] if edges or record.state else [self.waits_for]

    async def _check(
        self, record: StepRecord, assignment: Assignment, artifact: str
    ) -> tuple[GateResult, ...]:
        results: list[GateResult] = []
        for name in record.step.gates:
            inspection = Inspection(
                key=assignment.cache_key(),
                gate=name,
                artifact=artifact,
                output=record.step.output,
            )
            record.state, content = await run_task(
                gate,
                inspection,
                name=f"{assignment.step} · gate {name} · attempt {assignment.attempt}",
                wait_for=[record.state],
            )
            if not isinstance(content, dict):
                content = {"gate": name, "status": "error", "diagnostics": [repr(content)]}
            results.append(GateResult.model_validate(content))
            if results[-1].status in ("failed", "error"):
                break
        return tuple(results)

    def _conclude(
        self,
        record: StepRecord,
        launch: Launch,
        verdict: Verdict,
        gates: tuple[GateResult, ...],
        artifact: str,
    ) -> AttemptFinished:
        category, error = _failure(verdict, gates)
        attempt = Attempt(
            number=launch.attempt,
            tier=cast("Tier", launch.tier),
            model=verdict.model,
            started_at=verdict.started_at,
            ended_at=verdict.ended_at,
            queue_s=verdict.queue_s,
            usage=verdict.usage,
            category=category,
            error=error,
            gates=gates,
        )
        if category is None:
            record.attempts.append(attempt)
            record.text = artifact
            record.category, record.reason = None, ""
            record.output_ref = self.run.write(f"outputs/{launch.step}.txt", artifact)
            return AttemptFinished(launch.step, "succeeded")
        decision = self._route(record, attempt)
        record.attempts.append(attempt.model_copy(update={"decision": decision}))
        record.category = category
        record.reason = f"{category}: {error} ({decision.reason})"
        if decision.tier is not None:
            return AttemptFinished(launch.step, "retry", decision.tier)
        return AttemptFinished(launch.step, "skipped" if decision.action == "SKIP" else "failed")

    def _route(self, record: StepRecord, attempt: Attempt) -> Decision:
        history = [
            Failure(past.category, past.tier, past.error or "")
            for past in (*record.attempts, attempt)
            if past.category is not None
        ]
        policy = Policy(
            max_attempts=record.step.max_attempts,
            ladder=self.options.ladder(record.step.max_tier),
            optional=record.step.optional,
        )
        return route(history, policy)


def _feedback(attempts: Sequence[Attempt]) -> str:
    decision = attempts[-1].decision if attempts else None
    return decision.feedback if decision is not None else ""


def _within_run(verdict: Verdict, record: StepRecord) -> Verdict:
    """Blame the run's budget, not the step, for an attempt that the run's end cut short."""
    limit = verdict.timeout_s
    if verdict.category is not Category.TIMEOUT or limit is None or limit >= record.step.timeout_s:
        return verdict
    error = (
        f"The run's time ended {limit:.1f} s into this attempt, which might have taken "
        f"{record.step.timeout_s:g} s. Raise timeout_s."
    )
    return verdict.model_copy(update={"category": Category.BUDGET, "error": error})


def _failure(verdict: Verdict, gates: Sequence[GateResult]) -> tuple[Category | None, str | None]:
    if verdict.category is not None:
        return verdict.category, verdict.error
    for result in gates:
        if result.status in ("failed", "error"):
            said = "; ".join(result.diagnostics)
            return result.category or Category.UNKNOWN, f"gate {result.gate}: {said}"
    return None, None
