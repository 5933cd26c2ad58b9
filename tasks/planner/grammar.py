"""The planner of model files without a planner's adapter: JSON under a grammar."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
from pydantic_ai.models import Model

from ...blocks.llama.model import LlamaCppModel, LlamaCppSettings
from ...blocks.traced import tracing_of
from ..subagent.early_abort import watch
from .conversation import checked_objective, converse
from .instructions import instructions
from .plan_grammar import plan_grammar, plan_shape
from .protocol import PlanContext, PlanDraft

__all__ = ["GrammarPlanner"]


_CONTEXT = 4096
"""Tokens of a request where a model file doesn't say."""


class GrammarPlanner:
    """Asks a model file for the plan as JSON, of which it can write nothing but a plan's form."""

    def __init__(self, model: Model, local: LlamaCppModel) -> None:
        """Take a model, and the model file that it is or wraps."""
        self._model, self._local = model, local

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelError: The model can't be loaded, or the objective doesn't fit its context.
            NoPlanError: The second plan can't be read either.
        """
        settings = LlamaCppSettings(
            llamacpp_grammar=plan_grammar(context.rules),
            llamacpp_watch=watch("text"),
            llamacpp_repeat_penalty=1.0,
        )
        room = (self._local.limits.context_tokens or _CONTEXT) // 2
        settings["max_tokens"] = context.max_tokens or room
        system = SystemPromptPart(f"{instructions(context.rules)}\n\n{plan_shape(context.rules)}")

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            sent = [ModelRequest([system]), *messages]
            # The repair, which is longer by two messages, is not to go round in the same circle.
            settings["seed"] = (context.seed or 0) + len(messages) // 2
            return await model_request(
                self._model, sent, model_settings=settings, instrument=tracing_of(self._model)
            )

        return await converse(checked_objective(objective), context, ask)
