"""Have a model write the plan: under a grammar where it takes one, as structured output elsewhere.

The adapter of a local model, if it has one, is applied here and nowhere else, and its plans are
repaired where the objective leaves no doubt. A plan that scores below the threshold is
written again, less greedily, and the best one is taken: with an adapter all further ones at once,
as one batch of tokens, and the best by its score and by how many have its graph; without one as
long as none scores enough.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ...blocks.llama.model import LlamaCppModel, LlamaCppSettings
from ...errors import InputError, NoPlanError, PlanError
from ...result import Usage
from ...task_ir import PlanRules, TaskIR
from ..usage import usage_of
from .adapter.enumerations import listed_items
from .adapter.line_format import GRAMMAR_STEPS, grammar, read_lines, repetition_reason
from .adapter.prompts import lines_messages, trained_messages
from .adapter.repair.pipeline import repair_plan
from .adapter.score import THRESHOLD, score
from .adapter.selection import AGREED, Choice, PlanCandidate, describe_selection, select_plan
from .structured import request_plan

__all__ = [
    "SAMPLES",
    "TRAINED_SAMPLES",
    "TRAINED_THRESHOLD",
    "PlanDraft",
    "draft_plan",
    "why_without_adapter",
]

SAMPLES, TRAINED_SAMPLES = 3, 6
"""The most plans that are written by default: without an adapter, and with one."""
TRAINED_THRESHOLD = 0.85
"""With an adapter, the least score of a plan that is taken without writing others.

Both by measurement: `benches/planning/choice.py`.
"""

_logger = logging.getLogger(__name__)
_EXCERPT = 2000
_TOKENS, _TRAINED_TOKENS = 320, 640
# Of the first sample, the second and so on; of every further one the last.
_TEMPERATURES, _TRAINED_TEMPERATURES = (0.0, 0.5, 0.8), (0.0, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class PlanDraft(Choice):
    """The plan that is taken, what it was chosen from, and the adapter that was applied, if any."""

    candidates: tuple[PlanCandidate, ...]
    usage: Usage
    adapter: Path | None


async def draft_plan(
    objective: str,
    model: Model,
    *,
    rules: PlanRules | None = None,
    samples: int | None = None,
    threshold: float | None = None,
    seed: int = 0,
    max_tokens: int | None = None,
    adapter: bool = True,
) -> PlanDraft:
    """Decompose an objective into a plan.

    Args:
        objective: What is wanted.
        model: A local model writes under a grammar; any other gives structured output, with one
            repair round.
        rules: Limits on the plan.
        samples: The most plans to write, more than one only where the first scores too low; by
            default 6 with an adapter and 3 without one.
        threshold: The least score, 0 to 1, of a plan that is taken without writing another; by
            default 0.85 with an adapter and 0.75 without one.
        seed: Seeds sampling; the same seed gives the same plan of a local model.
        max_tokens: The most tokens a plan may take; by default 640 with an adapter, 320 in lines
            without one, else the model's own.
        adapter: Whether the adapter of a local model is applied.

    Raises:
        InputError: The objective is empty.
        ModelError: The adapter doesn't fit the model.
        NoPlanError: No plan that was written can be read; it has the last one's text.
    """
    objective = objective.strip()
    if not objective:
        raise InputError("The objective is empty.", "Say what is wanted.")
    writer = _Writer(objective, model, rules or PlanRules(), seed, max_tokens, adapter=adapter)
    trained = writer.adapter is not None
    if samples is None:
        samples = TRAINED_SAMPLES if trained else SAMPLES
    if threshold is None:
        threshold = TRAINED_THRESHOLD if trained else THRESHOLD
    candidates = [await writer.write(0)]
    while len(candidates) < samples and not writer.settled(candidates[-1], threshold):
        until = samples if trained else len(candidates) + 1
        candidates += await asyncio.gather(*map(writer.write, range(len(candidates), until)))
    return _choose(candidates, writer)


def why_without_adapter(model: Model) -> str:
    """Return why a local model plans without the shipped adapter; empty for any other model."""
    local = _local(model)
    return local.missing_adapter_reason if local is not None else ""


def _local(model: Model) -> LlamaCppModel | None:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model if isinstance(model, LlamaCppModel) else None


class _Writer:
    """Writes plans for one objective and counts what it uses."""

    def __init__(
        self,
        objective: str,
        model: Model,
        rules: PlanRules,
        seed: int,
        max_tokens: int | None,
        *,
        adapter: bool,
    ) -> None:
        local = _local(model)
        self._is_local = local is not None
        self.adapter = local.planner_adapter if local is not None and adapter else None
        self._objective, self._model, self._rules = objective, model, rules
        self._seed, self._max_tokens = seed, max_tokens
        self._answers: list[ModelMessage] = []

    @property
    def usage(self) -> Usage:
        return usage_of(self._answers)

    async def write(self, attempt: int) -> PlanCandidate:
        text, notes = "", ()
        try:
            if self._is_local:
                text = await self._lines(attempt)
                plan = read_lines(text, self._objective, self._rules)
                plan, notes = repair_plan(plan, self._rules.max_steps)
            else:
                plan, text = await self._structured(attempt)
        except PlanError as error:
            return PlanCandidate((error.text or text)[:_EXCERPT], error=str(error))
        return PlanCandidate(text[:_EXCERPT], plan, score(plan, self._objective), notes)

    def settled(self, candidate: PlanCandidate, threshold: float) -> bool:
        if candidate.score is None:
            return not self._is_local  # structured output has had its repair round
        return candidate.score.value >= threshold

    async def _lines(self, attempt: int) -> str:
        settings = LlamaCppSettings(
            max_tokens=self._max_tokens or (_TRAINED_TOKENS if self.adapter else _TOKENS),
            temperature=self._temperature(attempt),
            seed=self._seed + attempt,
            llamacpp_watch=repetition_reason,
        )
        most = min(self._rules.max_steps, GRAMMAR_STEPS)
        if self.adapter is None:
            messages = lines_messages(self._objective)
            settings["llamacpp_grammar"] = grammar(*_room(self._objective, most))
        else:
            messages = trained_messages(self._objective)
            settings["llamacpp_grammar"] = grammar(most)
            settings["llamacpp_adapter"] = str(self.adapter)
        answer = await model_request(self._model, messages, model_settings=settings)
        self._answers.append(answer)
        text = answer.text or ""
        if answer.finish_reason in ("length", "error"):
            # The line that was cut off says half a thing; the lines before it are whole.
            text = text.rpartition("\n")[0] or text
        return text

    async def _structured(self, attempt: int) -> tuple[TaskIR, str]:
        settings = ModelSettings(seed=self._seed + attempt)
        if self._max_tokens is not None:
            settings["max_tokens"] = self._max_tokens
        if attempt:
            settings["temperature"] = self._temperature(attempt)
        return await request_plan(
            self._objective, self._model, self._rules, settings, self._answers
        )

    def _temperature(self, attempt: int) -> float:
        ladder = _TRAINED_TEMPERATURES if self.adapter else _TEMPERATURES
        return ladder[min(attempt, len(ladder) - 1)]


def _room(objective: str, most: int) -> tuple[int, int]:
    """Return the most and the fewest lines: one for each thing listed, and one that joins them."""
    things = len(listed_items(objective))
    return (min(most, things + 1), min(most, things)) if things else (min(most, 3), 1)


def _choose(candidates: list[PlanCandidate], writer: _Writer) -> PlanDraft:
    choice = select_plan(candidates, AGREED if writer.adapter else 0.0)
    if choice is None:
        last = candidates[-1]
        raise NoPlanError(f"No plan could be read: {last.error}", "Ask another model.", last.text)
    _logger.info(
        "Chose a plan of %d steps that scores %.2f (%s)%s",
        len(choice.plan.steps),
        choice.score.value,
        describe_selection(candidates, choice.alike),
        "".join(f"; {clause}" for clause in (*choice.score.reasons, *choice.repairs)),
    )
    return PlanDraft(
        **vars(choice), candidates=tuple(candidates), usage=writer.usage, adapter=writer.adapter
    )
