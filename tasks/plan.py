"""Have a model write the plan: under a grammar where it takes one, as structured output elsewhere.

A plan that scores below the threshold is written again, less greedily, and the best one is taken.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import cast

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..blocks.llama.model import LlamaCppModel
from ..errors import InputError, NoPlanError, PlanError
from ..result import Usage
from ..task_ir import PlanRules, TaskIR
from .plan_lines import GRAMMAR_STEPS, grammar, read_lines
from .plan_prompt import lines_messages
from .plan_score import PlanScore, listed, score
from .plan_structured import request_plan
from .usage import usage_of

__all__ = ["Candidate", "PlanDraft", "draft_plan"]

_logger = logging.getLogger(__name__)
_EXCERPT = 2000
_TEMPERATURES = (0.0, 0.5, 0.8)  # of the first sample, the second, and every further one


@dataclass(frozen=True)
class Candidate:
    """One plan that was written.

    Attributes:
        text: What the model wrote, cut to 2,000 characters.
        plan: The plan, or None where it could not be read.
        score: The plan's score.
        error: Why it could not be read.
    """

    text: str
    plan: TaskIR | None = None
    score: PlanScore | None = None
    error: str = ""


@dataclass(frozen=True)
class PlanDraft:
    """The chosen plan, and what it was chosen from."""

    plan: TaskIR
    score: PlanScore
    candidates: tuple[Candidate, ...]
    usage: Usage


async def draft_plan(
    objective: str,
    model: Model,
    *,
    rules: PlanRules | None = None,
    samples: int = 3,
    seed: int = 0,
    max_tokens: int | None = None,
) -> PlanDraft:
    """Decompose an objective into a plan.

    Args:
        objective: What is wanted.
        model: A local model writes under a grammar; any other gives structured output, with one
            repair round.
        rules: Limits on the plan.
        samples: The most plans to write; more than one only while the best scores too low.
        seed: Seeds sampling; the same seed gives the same plan of a local model.
        max_tokens: The most tokens a plan may take; by default 320 in lines, else the model's own.

    Raises:
        InputError: The objective is empty.
        NoPlanError: No plan that was written can be read; it has the last one's text.
    """
    objective = objective.strip()
    if not objective:
        raise InputError("The objective is empty.", "Say what is wanted.")
    writer = _Writer(objective, model, rules or PlanRules(), seed, max_tokens)
    candidates: list[Candidate] = []
    for attempt in range(max(samples, 1)):
        candidates.append(await writer.write(attempt))
        if _settled(candidates[-1], local=writer.local):
            break
    return _choose(candidates, writer.usage)


class _Writer:
    """Writes plans for one objective and counts what it uses."""

    def __init__(
        self, objective: str, model: Model, rules: PlanRules, seed: int, max_tokens: int | None
    ) -> None:
        self.local = _takes_grammar(model)
        self._objective, self._model, self._rules = objective, model, rules
        self._seed, self._max_tokens = seed, max_tokens
        self._answers: list[ModelMessage] = []

    @property
    def usage(self) -> Usage:
        return usage_of(self._answers)

    async def write(self, attempt: int) -> Candidate:
        text = ""
        try:
            if self.local:
                text = await self._lines(attempt)
                plan = read_lines(text, self._objective, self._rules)
            else:
                plan, text = await self._structured(attempt)
        except PlanError as error:
            return Candidate((error.text or text)[:_EXCERPT], error=str(error))
        return Candidate(text[:_EXCERPT], plan, score(plan, self._objective))

    async def _lines(self, attempt: int) -> str:
        most = min(self._rules.max_steps, GRAMMAR_STEPS)
        settings = {
            "max_tokens": self._max_tokens or 320,
            "temperature": _temperature(attempt),
            "seed": self._seed + attempt,
            "llamacpp_grammar": grammar(*_room(self._objective, most)),
        }
        answer = await model_request(
            self._model,
            lines_messages(self._objective),
            model_settings=cast("ModelSettings", settings),
        )
        self._answers.append(answer)
        text = answer.text or ""
        if answer.finish_reason == "length":
            # The line that the limit cut off says half a thing; the lines before it are whole.
            text = text.rpartition("\n")[0] or text
        return text

    async def _structured(self, attempt: int) -> tuple[TaskIR, str]:
        settings = ModelSettings(seed=self._seed + attempt)
        if self._max_tokens is not None:
            settings["max_tokens"] = self._max_tokens
        if attempt:
            settings["temperature"] = _temperature(attempt)
        return await request_plan(
            self._objective, self._model, self._rules, settings, self._answers
        )


def _takes_grammar(model: Model) -> bool:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return isinstance(model, LlamaCppModel)


def _temperature(attempt: int) -> float:
    return _TEMPERATURES[min(attempt, len(_TEMPERATURES) - 1)]


def _room(objective: str, most: int) -> tuple[int, int]:
    """Return the most and the fewest lines: one for each thing listed, and one that joins them."""
    things = len(listed(objective))
    return (min(most, things + 1), min(most, things)) if things else (min(most, 3), 1)


def _settled(candidate: Candidate, *, local: bool) -> bool:
    if candidate.score is None:
        return not local  # structured output has had its repair round
    return candidate.score.good_enough


def _choose(candidates: list[Candidate], usage: Usage) -> PlanDraft:
    best: tuple[TaskIR, PlanScore] | None = None
    for candidate in candidates:
        if candidate.plan is None or candidate.score is None:
            continue
        if best is None or candidate.score.value > best[1].value:
            best = candidate.plan, candidate.score
    if best is None:
        last = candidates[-1]
        raise NoPlanError(f"No plan could be read: {last.error}", "Ask another model.", last.text)
    plan, value = best
    _logger.info(
        "Chose a plan of %d steps that scores %.2f, of %d written (%s)%s",
        len(plan.steps),
        value.value,
        len(candidates),
        ", ".join(f"{c.score.value:.2f}" if c.score else "unreadable" for c in candidates),
        f": {'; '.join(value.reasons)}" if value.reasons else "",
    )
    return PlanDraft(plan, value, tuple(candidates), usage)
