"""A model that judges an answer by a rubric, under the same names as the tiers' models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ..errors import InputError, ModelError
from ..models.limited_model import open_limiters
from ..models.resolve import price_of, resolve_model
from ..quoting import Quote, with_quotes

if TYPE_CHECKING:
    from ..flows.options import SwarmOptions
    from .cases import EvalCase

__all__ = ["Judgement", "judge_answer", "judge_model"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge found, and what that took; `usd` is None where no price is known."""

    passed: bool
    reason: str
    tokens: int
    usd: float | None


async def judge_model(case: EvalCase, options: SwarmOptions, at_once: int = 1) -> Model:
    """Return the model that judges a case's answers: its own, or the planner's.

    Raises:
        InputError: Its name has none of the known forms.
        ModelError: It is not available.
    """
    try:
        if case.judge:
            model = await resolve_model(options.named(case.judge), "judge")
        else:
            model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    except (InputError, ModelError) as error:
        problem = error.problem.removeprefix("Tier judge: ")
        raise type(error)(f"The judge of case {case.name}: {problem}", error.fix) from None
    open_limiters(model, at_once)
    return model


async def judge_answer(model: Model, objective: str, answer: str, rubric: str) -> Judgement:
    """Ask whether the rubric is true of an answer to an objective.

    Raises:
        AgentRunError: The model can't be asked, or says nothing that is a verdict.
    """
    from pydantic_evals.evaluators.llm_as_a_judge import judge_input_output

    counted = _CountedModel(model)
    # The library puts the answer between tags that an answer may have in it.
    shown = "\n\n".join(with_quotes([Quote(text=answer)]))
    found = await judge_input_output(objective, shown, rubric, counted)
    price, usage = price_of(model), counted.usage
    usd = None if price is None else price.of(usage.input_tokens, usage.output_tokens)
    return Judgement(found.pass_, found.reason, usage.total_tokens, usd)


class _CountedModel(WrapperModel):
    """Adds up what a model's answers took, of which the judge says nothing."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.usage = RequestUsage()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        self.usage += response.usage
        return response
