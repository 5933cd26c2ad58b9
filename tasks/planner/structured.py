"""The planners of models that call tools, write JSON, or write under a grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import ClassVar

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...models.answers.provider_errors import words_of
from ...models.llama.model import LlamaCppModel, LlamaCppSettings
from ...models.remote import tracing_of
from ...models.streaming import without_streaming
from ...plan.task_ir import PlanRules
from ..subagent.answer import watch
from .conversation import PlanContext, PlanDraft, checked_objective, converse, instructions
from .grammar import plan_grammar, plan_shape
from .planned import plan_schema
from .program import may_depend
from .written import PLAN_TOOL

__all__ = ["GrammarPlanner", "StructuredPlanner"]


_PURPOSE = "Write the whole plan: who is created, and what each is assigned."
_OTHERWISE_REJECTED = (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
)
"""What is rejected for another reason than the form that the plan is asked for in."""


def _may_depend(objective: str, context: PlanContext) -> bool:
    return may_depend(objective, context.inputs, context.rules.toolsets or ())


def _by_tool(rules: PlanRules, *, program: bool) -> ModelRequestParameters:
    schema = plan_schema(inputs=bool(rules.inputs), toolsets=rules.toolsets or (), program=program)
    tool = ToolDefinition(
        name=PLAN_TOOL, description=_PURPOSE, parameters_json_schema=schema, kind="output"
    )
    return ModelRequestParameters(
        output_mode="auto",
        output_tools=[tool],
        output_object=OutputObjectDefinition(
            json_schema=schema, name=PLAN_TOOL, description=_PURPOSE
        ),
        allow_text_output=False,
    )


_Server = tuple[str | None, str]
_NAMES_TOOLS = re.compile(r"tool|function", re.IGNORECASE)
# Written and read by the planner alone: servers, by address and model, that refused its tool and
# took the same request as text. Each of them is asked so once.
_without_tools: set[_Server] = set()


class StructuredPlanner:
    """Asks for the plan as a tool call, and as JSON where the model or its server has no tools."""

    reads_facts: ClassVar[bool] = True

    def __init__(self, model: Model) -> None:
        self._model = model

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelAPIError: The model can't be asked.
            NoPlanError: The model refuses, or the second plan can't be read either.
        """
        program = _may_depend(objective, context)
        by_tool = _by_tool(context.rules, program=program)
        how = instructions(context.rules, program=program)
        as_text = replace(by_tool, output_mode="prompted", output_tools=[], allow_text_output=True)
        server = (self._model.base_url, self._model.model_name)
        without_tools = _without_tools if self._model.base_url else set[_Server]()
        streaming: Callable[[], AbstractContextManager[None]] = nullcontext

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            nonlocal streaming
            parameters = as_text if server in without_tools else by_tool
            try:
                return await self._ask(messages, context, parameters, how)
            except ModelRequestRejectedError as error:
                # Servers without tools reject what has them; they do so before anything is written.
                if parameters is as_text or isinstance(error, _OTHERWISE_REJECTED):
                    raise
                if not _NAMES_TOOLS.search(words_of(error)):
                    # Nobody knows what it is about: one more request, the plainest that there is.
                    streaming = without_streaming
                with streaming():
                    answer = await self._ask(messages, context, as_text, how)
                without_tools.add(server)
                return answer

        return await converse(checked_objective(objective), context, ask)

    async def _ask(
        self,
        messages: Sequence[ModelMessage],
        context: PlanContext,
        parameters: ModelRequestParameters,
        how: str,
    ) -> ModelResponse:
        settings = ModelSettings()
        if context.seed is not None:
            settings["seed"] = context.seed
        if context.max_tokens is not None:
            settings["max_tokens"] = context.max_tokens
        sent = [
            replace(message, instructions=how) if isinstance(message, ModelRequest) else message
            for message in messages
        ]
        return await model_request(
            self._model,
            sent,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=tracing_of(self._model),
        )


_CONTEXT = 4096
"""Tokens of a request where a model file doesn't say."""


class GrammarPlanner:
    """Asks a model file for the plan as JSON, of which it can write nothing but a plan's form."""

    reads_facts: ClassVar[bool] = True

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
        program = _may_depend(objective, context)
        settings = LlamaCppSettings(
            llamacpp_grammar=plan_grammar(context.rules, program=program),
            llamacpp_watch=watch("text"),
            llamacpp_repeat_penalty=1.0,
        )
        room = (self._local.limits.context_tokens or _CONTEXT) // 2
        settings["max_tokens"] = context.max_tokens or room
        how = instructions(context.rules, program=program)
        system = SystemPromptPart(f"{how}\n\n{plan_shape(context.rules, program=program)}")

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            sent = [ModelRequest([system]), *messages]
            # The repair, which is longer by two messages, is not to go round in the same circle.
            settings["seed"] = (context.seed or 0) + len(messages) // 2
            return await model_request(
                self._model, sent, model_settings=settings, instrument=tracing_of(self._model)
            )

        return await converse(checked_objective(objective), context, ask)
