"""Reviewers of what an attempt made, and the judge of its samples, each asked in a task run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import BudgetExceededError, Category
from ..gates import Diagnostic, Finding, GateResult
from ..metrics.clock import run_time
from ..plan.review import CompiledReview, Reviewer
from ..plan.task_ir import Tier
from ..tasks.review import (
    JUDGE,
    REVIEW,
    finding_of,
    judge_request,
    read_choice,
    read_verdict,
    review_request,
)
from ..tasks.subagent.request import CallLimits, SubagentRequest, SubagentResult
from ..text import visible
from .bounds import call_limits
from .context import RunContext
from .subagents import ask_subagent

__all__ = ["Judged", "Reviewed", "Reviews"]


_SEEDS_APART = 1000
_NO_VERDICT = "its answer has none that can be read"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was decided about an artifact.

    Attributes:
        gate: It, as a gate's result.
        answers: What each of those asked answered.
        states: The states of their task runs.
    """

    gate: GateResult
    answers: tuple[SubagentResult, ...]
    states: tuple[State[Any], ...]


@dataclass(frozen=True, slots=True)
class Judged(Reviewed):
    """What was decided among several artifacts; `best` is the number of one of them, from 0."""

    best: int = 0


@dataclass(frozen=True, slots=True)
class Reviews:
    """Asks reviewers and judges."""

    context: RunContext

    async def review(
        self,
        review: CompiledReview,
        made: SubagentRequest,
        artifact: str,
        after: Sequence[State[Any]],
        label: str,
    ) -> Reviewed:
        """Have an artifact reviewed, by all reviewers side by side.

        Args:
            made: What the artifact answers.
            after: States that the reviews come after.
            label: Names the task runs, such as `attempt 2`.
        """
        reviewer = review.reviewer
        model = self._model(reviewer.tier)
        numbers = range(1, review.votes + 1)
        limits = self._limits(reviewer.tier, model, varied=review.votes > 1)
        asked = [
            self._ask(
                review_request(
                    review,
                    made,
                    artifact,
                    number,
                    model=model,
                    limits=_seeded(limits, made, number),
                ),
                f"{made.step}, {REVIEW} {number} of {review.votes}, "
                f"{visible(reviewer.agent, strict=True)}, {label}",
                after,
            )
            for number in numbers
        ]
        answered = await asyncio.gather(*asked)
        answers = tuple(answer for _, answer in answered)
        verdicts = [read_verdict(each.text) if each.category is None else None for each in answers]
        problems = [
            "" if verdict else each.error or _NO_VERDICT
            for verdict, each in zip(verdicts, answers, strict=True)
        ]
        found = finding_of(reviewer.agent, verdicts, problems, review.needed)
        if found.category is Category.UNKNOWN and any(
            each.category is Category.BUDGET for each in answers
        ):
            found = found.model_copy(update={"category": Category.BUDGET})
        states = tuple(state for state, _ in answered if state is not None)
        return Reviewed(_gate(REVIEW, found, artifact, answers), answers, states)

    async def judge(
        self,
        judge: Reviewer,
        made: SubagentRequest,
        artifacts: Sequence[str],
        after: Sequence[State[Any]],
        label: str,
    ) -> Judged:
        """Have a judge name the best of several artifacts; without a name it is the first.

        Args:
            made: What all of them answer.
            after: States that the judgement comes after.
            label: Names the task run, such as `attempt 1`.
        """
        model = self._model(judge.tier)
        limits = _seeded(self._limits(judge.tier, model), made, 0)
        state, answer = await self._ask(
            judge_request(judge, made, artifacts, model=model, limits=limits),
            f"{made.step}, {JUDGE}, {visible(judge.agent, strict=True)}, {label}",
            after,
        )
        choice = read_choice(answer.text, len(artifacts)) if answer.category is None else None
        best = choice.best if choice else 0
        if choice is None:
            why = answer.error or "its answer names none of them"
            said = f"{judge.agent} named none, so the first that passed counts: {why}"
        else:
            number = f"the best of {len(artifacts)} that passed"
            said = " ".join([f"{judge.agent} names this one {number}.", *choice.reasons])
        found = Finding(
            status="passed" if choice else "skipped", diagnostics=(Diagnostic(message=said),)
        )
        gate = _gate(JUDGE, found, artifacts[best], (answer,), required=False)
        return Judged(gate, (answer,), (state,) if state is not None else (), best)

    async def _ask(
        self, request: SubagentRequest, name: str, after: Sequence[State[Any]]
    ) -> tuple[State[Any] | None, SubagentResult]:
        ledger, asked_at = self.context.ledger, run_time()
        try:
            reserved = await ledger.reserve(request)
        except BudgetExceededError as error:
            return None, SubagentResult(
                model=request.model,
                started_at=asked_at,
                ended_at=asked_at,
                category=error.category,
                error=str(error),
            )
        return await ask_subagent(ledger, reserved, name=name, wait_for=after)

    def _model(self, tier: Tier) -> str:
        return self.context.options.model_of(tier)

    def _limits(self, tier: Tier, model: str, *, varied: bool = False) -> CallLimits:
        """Return what bounds a call; `varied` where several are asked the same."""
        options, profile = self.context.options, self.context.models.profile(model)
        limits = call_limits(options, tier, profile)
        if not varied:
            return limits
        temperature = options.policy.sample_temperature or profile.sample_temperature
        return limits.model_copy(update={"temperature": temperature or limits.temperature})


def _seeded(limits: CallLimits, made: SubagentRequest, number: int) -> CallLimits:
    seed = limits.seed + made.attempt - 1 + number * _SEEDS_APART
    return limits.model_copy(update={"seed": seed})


def _gate(
    name: str,
    found: Finding,
    artifact: str,
    answers: Sequence[SubagentResult],
    *,
    required: bool = True,
) -> GateResult:
    """Return a gate's result; its time is that of models, so that it has no time as a gate."""
    began = min(answer.started_at for answer in answers)
    return GateResult(
        **found.model_dump(),
        gate=name,
        required=required,
        duration_s=max(answer.ended_at for answer in answers) - began,
        version=answers[0].model,
        artifact=hashlib.sha256(artifact.encode(errors="surrogatepass")).hexdigest(),
    )
