"""The planner of a model file that was trained to plan: lines, samples, a score and repairs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model

from ...errors import NoPlanError, PlanError
from ...models.llama.model import LlamaCppSettings
from ...models.remote import tracing_of
from ..task_runs import usage_of
from .conversation import EXCERPT, PlanContext, PlanDraft, checked_objective
from .line_format import GRAMMAR_STEPS, grammar, read_lines, repair_plan, repetition_reason
from .plan_score import AGREED, Choice, PlanCandidate, describe_selection, score, select_plan

__all__ = ["SAMPLES", "THRESHOLD", "TRAINED", "AdapterDraft", "AdapterPlanner", "trained_messages"]


TRAINED = "Split the objective into steps."
"""The whole prompt for a model that was trained to plan: its training has the rest."""


def trained_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a trained model's plan; no examples.

    Training writes its prompts with this, so that a model is asked as it was taught.
    """
    lines = (" ".join(line.split()) for line in objective.strip().splitlines())
    return [ModelRequest([SystemPromptPart(TRAINED), UserPromptPart("\n".join(lines))])]


SAMPLES = 6
"""The most plans that are written for an objective."""
THRESHOLD = 0.85
"""The least score of a plan that is taken without writing others.

Both by measurement: `benches/planning/choice.py`.
"""

_logger = logging.getLogger(__name__)
_TOKENS = 640
# Of the first sample, the second and so on; of every further one the last.
_TEMPERATURES = (0.0, 0.4, 0.6, 0.8)


@dataclass(frozen=True, kw_only=True)
class AdapterDraft(PlanDraft):
    """The plan that is taken, why, and all that were written."""

    choice: Choice
    written: tuple[PlanCandidate, ...]


class AdapterPlanner:
    """Writes plans with an adapter, as many as it takes until one scores well."""

    reads_facts: ClassVar[bool] = False

    def __init__(
        self,
        model: Model,
        adapter: Path,
        *,
        samples: int = SAMPLES,
        threshold: float = THRESHOLD,
    ) -> None:
        """Take a model.

        Args:
            model: A model file, or what wraps one.
            adapter: The LoRA adapter to plan with.
            samples: The most plans to write.
            threshold: The least score, 0 to 1, of a plan that is taken immediately.
        """
        self._model, self._adapter = model, adapter
        self._samples, self._threshold = samples, threshold

    async def plan(self, objective: str, context: PlanContext) -> AdapterDraft:
        """Write plans and take the best one.

        Raises:
            InputError: The objective is empty.
            ModelError: The adapter doesn't fit the model.
            NoPlanError: No plan that was written can be read; it has the last one's text.
        """
        objective = checked_objective(objective)
        answers: list[ModelMessage] = []

        async def write(number: int) -> PlanCandidate:
            text = await self._lines(objective, context, number, answers)
            return _candidate(text, objective, context)

        candidates = [await write(0)]
        first = candidates[0].score
        if first is None or first.value < self._threshold:
            candidates += await asyncio.gather(*map(write, range(1, self._samples)))
        return self._draft(candidates, answers)

    async def _lines(
        self,
        objective: str,
        context: PlanContext,
        number: int,
        answers: list[ModelMessage],
    ) -> str:
        settings = LlamaCppSettings(
            max_tokens=context.max_tokens or _TOKENS,
            temperature=_TEMPERATURES[min(number, len(_TEMPERATURES) - 1)],
            seed=(context.seed or 0) + number,
            llamacpp_watch=repetition_reason,
            llamacpp_grammar=grammar(min(context.rules.max_steps, GRAMMAR_STEPS)),
            llamacpp_adapter=str(self._adapter),
        )
        messages = trained_messages(objective)
        answer = await model_request(
            self._model, messages, model_settings=settings, instrument=tracing_of(self._model)
        )
        answers.append(answer)
        text = answer.text or ""
        if answer.finish_reason in ("length", "error"):
            # The line that was cut off says half a thing; the lines before it are whole.
            text = text.rpartition("\n")[0] or text
        return text

    def _draft(
        self, candidates: Sequence[PlanCandidate], answers: Sequence[ModelMessage]
    ) -> AdapterDraft:
        choice = select_plan(candidates, AGREED)
        if choice is None:
            last = candidates[-1]
            raise NoPlanError(
                f"No plan could be read: {last.error}", "Ask another model.", last.text
            )
        selected = describe_selection(candidates, choice.alike)
        _logger.info(
            "Chose a plan of %d steps that scores %.2f (%s)%s",
            len(choice.plan.steps),
            choice.score.value,
            selected,
            "".join(f"; {clause}" for clause in (*choice.score.reasons, *choice.repairs)),
        )
        return AdapterDraft(
            plan=choice.plan,
            text=next(each.text for each in candidates if each.plan is choice.plan),
            usage=usage_of(answers),
            origin="; ".join((selected, *choice.repairs)),
            score=choice.score.value,
            candidates=len(candidates),
            adapter=self._adapter,
            choice=choice,
            written=tuple(candidates),
        )


def _candidate(text: str, objective: str, context: PlanContext) -> PlanCandidate:
    try:
        plan, notes = repair_plan(read_lines(text, objective, context.rules))
    except PlanError as error:
        return PlanCandidate((error.text or text)[:EXCERPT], error=str(error))
    return PlanCandidate(text[:EXCERPT], plan, score(plan, objective), notes)
