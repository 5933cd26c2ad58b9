"""One candidate for a step's artifact: budget, subagent, extraction, gates."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefect.client.schemas.objects import State
from pydantic_ai.exceptions import ModelAPIError

from ..errors import Category, SwarmError
from ..gates import Gate, GateResult, Material, Passage, Subject, line_of, run_line, said
from ..tasks.gate import Inspection, gate
from ..tasks.subagent.extraction import Extraction, extract
from ..tasks.subagent.request import Assignment, Verdict
from ..tasks.subagent.task import subagent
from .budget import Ledger
from .compile import CompiledStep
from .task_run import run_task

__all__ = ["Candidate", "Candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one request came to.

    Attributes:
        states: The Prefect states of its last task runs.
        passage: What the gates said; None where there was nothing to check.
    """

    verdict: Verdict
    extraction: Extraction
    passage: Passage | None
    states: tuple[State[Any], ...]

    @property
    def category(self) -> Category | None:
        """What kind of failure it is; None if it is none."""
        if self.verdict.category is not None:
            return self.verdict.category
        stopper = self.passage and self.passage.stopped_by
        return (stopper.category or Category.UNKNOWN) if stopper else None

    @property
    def error(self) -> str | None:
        """What was wrong, for whoever tries next."""
        if self.verdict.category is not None:
            return self.verdict.error
        stopper = self.passage and self.passage.stopped_by
        return f"gate {stopper.gate}: {said(stopper.diagnostics)}" if stopper else None

    @property
    def artifact(self) -> str:
        """The artifact, with all repairs."""
        return self.passage.artifact if self.passage else self.extraction.artifact

    @property
    def progress(self) -> tuple[bool, int]:
        """How far it got: past the model, and past how many gates."""
        passed = self.passage.results if self.passage else ()
        return self.verdict.category is None, sum(not result.stops for result in passed)


@dataclass(slots=True)
class Candidates:
    """Makes candidates. `gates` bounds the light gates that run at once."""

    ledger: Ledger
    gates: asyncio.Semaphore
    clock: Callable[[], float] = field(default=time.time)

    async def make(
        self,
        step: CompiledStep,
        assignment: Assignment,
        materials: Sequence[Material],
        wait_for: Sequence[State[Any] | None],
        label: str,
    ) -> Candidate:
        """Ask a subagent and check what it made.

        Args:
            assignment: Within the budget already, under its key.
            label: Names the task runs, such as `attempt 2`.
        """
        tokens: int | None = None
        try:
            state, verdict = await self._ask(step, assignment, wait_for, label)
            # What a model wrote before it was stopped from outside nobody counted.
            uncounted = verdict.category is Category.TIMEOUT or state.is_cancelled()
            tokens = None if uncounted else verdict.usage.tokens
        finally:
            self.ledger.settle(assignment.key, tokens)
        extraction = extract(verdict.text, step.output.kind)
        if verdict.category is not None or not step.gates:
            return Candidate(verdict, extraction, None, (state,))
        passage, states = await self._check(step, assignment, extraction, materials, state, label)
        return Candidate(verdict, extraction, passage, states)

    async def _ask(
        self,
        step: CompiledStep,
        assignment: Assignment,
        wait_for: Sequence[State[Any] | None],
        label: str,
    ) -> tuple[State[Any], Verdict]:
        started = self.clock()
        name = f"{step.id} · {step.agent} · {label}"
        state, content = await run_task(subagent, assignment, name=name, wait_for=wait_for)
        if isinstance(content, dict):
            return state, _within_run(Verdict.model_validate(content), step)
        known = isinstance(content, SwarmError | ModelAPIError)
        verdict = Verdict(
            model=assignment.model,
            started_at=started,
            ended_at=self.clock(),
            category=Category.INFRASTRUCTURE,
            error=str(content) if known else repr(content),
        )
        return state, verdict

    async def _check(
        self,
        step: CompiledStep,
        assignment: Assignment,
        extraction: Extraction,
        materials: Sequence[Material],
        asked: State[Any],
        label: str,
    ) -> tuple[Passage, tuple[State[Any], ...]]:
        states: dict[str, tuple[State[Any], ...]] = {"": (asked,)}

        async def check(one: Gate, subject: Subject, required: bool) -> GateResult:
            inspection = Inspection(
                key=assignment.cache_key(),
                gate=one.name,
                required=required,
                race=assignment.race,
                subject=subject,
            )
            name = f"{step.id} · gate {one.name} · {label}"
            before = next((s for stage, s in reversed(states.items()) if stage != one.stage), ())
            if one.stage == "light":
                async with self.gates:
                    state, content = await run_task(gate, inspection, name=name, wait_for=before)
            else:
                state, content = await run_task(gate, inspection, name=name, wait_for=before)
            states[one.stage] = (*states.get(one.stage, ()), state)
            if isinstance(content, dict):
                return GateResult.model_validate(content)
            return GateResult.broken(one.name, repr(content), required=required)

        subject = Subject(
            artifact=extraction.artifact,
            output=step.output,
            prompt=step.prompt,
            materials=tuple(materials),
        )
        passage = await run_line(line_of(step.gates), subject, check)
        return passage, [*states.values()][-1]


def _within_run(verdict: Verdict, step: CompiledStep) -> Verdict:
    """Blame the run's budget, not the step, for an attempt that the run's end cut short."""
    limit = verdict.timeout_s
    if verdict.category is not Category.TIMEOUT or limit is None or limit >= step.timeout_s:
        return verdict
    error = (
        f"The run's time ended {limit:.1f} s into this attempt, which might have taken "
        f"{step.timeout_s:g} s. Raise timeout_s."
    )
    return verdict.model_copy(update={"category": Category.BUDGET, "error": error})
