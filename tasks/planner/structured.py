"""The planner of models that call tools or write JSON, at a provider or on a local server."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...blocks.answers.provider_errors import words_of
from ...blocks.hearing import hear_nothing
from ...blocks.traced import tracing_of
from ...task_ir import PlanRules
from .conversation import checked_objective, converse, instructions
from .protocol import PlanContext, PlanDraft
from .written import PLAN_TOOL, plan_schema

__all__ = ["StructuredPlanner"]

_PURPOSE = "Write the whole plan: who is created, and what each is assigned."
_OTHERWISE_REJECTED = (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
)
"""What is rejected for another reason than the form that the plan is asked for in."""


def _by_tool(rules: PlanRules) -> ModelRequestParameters:
    schema = plan_schema(inputs=bool(rules.inputs), toolsets=rules.toolsets or ())
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

    def __init__(self, model: Model) -> None:
        self._model = model

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelAPIError: The model can't be asked.
            NoPlanError: The model refuses, or the second plan can't be read either.
        """
        by_tool = _by_tool(context.rules)
        as_text = replace(by_tool, output_mode="prompted", output_tools=[], allow_text_output=True)
        server = (self._model.base_url, self._model.model_name)
        without_tools = _without_tools if self._model.base_url else set[_Server]()
        hearing: Callable[[], AbstractContextManager[None]] = nullcontext

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            nonlocal hearing
            parameters = as_text if server in without_tools else by_tool
            try:
                return await self._ask(messages, context, parameters)
            except ModelRequestRejectedError as error:
                # Servers without tools reject what has them; they do so before anything is written.
                if parameters is as_text or isinstance(error, _OTHERWISE_REJECTED):
                    raise
                if not _NAMES_TOOLS.search(words_of(error)):
                    # Nobody knows what it is about: one more request, the plainest that there is.
                    hearing = hear_nothing
                with hearing():
                    answer = await self._ask(messages, context, as_text)
                without_tools.add(server)
                return answer

        return await converse(checked_objective(objective), context, ask)

    async def _ask(
        self,
        messages: Sequence[ModelMessage],
        context: PlanContext,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        settings = ModelSettings()
        if context.seed is not None:
            settings["seed"] = context.seed
        if context.max_tokens is not None:
            settings["max_tokens"] = context.max_tokens
        how = instructions(context.rules)
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
