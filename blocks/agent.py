"""A pydantic-ai agent in a model's place: its tools, settings and instructions are used."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.instrumented import InstrumentedModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.usage import RequestUsage
from pydantic_core import to_json

from ..errors import InputError
from ..tracing import request_tracing
from .answers.usage import ESTIMATED
from .remote import remote_model

__all__ = ["REQUESTS", "AgentModel", "model_of"]

REQUESTS = "agent_requests"
"""Where the details of an answer say how many requests the agent made for it."""


def model_of(agent: Agent[Any, Any]) -> Model:
    """Return an agent's own model.

    Raises:
        InputError: It has none, or one of an unknown name.
        ModelError: The provider of its model lacks a key or its package is not installed.
    """
    model = agent.model
    if model is None:
        raise InputError(
            f"The agent {agent.name or 'without a name'} has no model.", "Give it a model."
        )
    return model if isinstance(model, Model) else remote_model(model)


class AgentModel(WrapperModel):
    """Answers a request with a whole run of an agent; plans are written by its model alone."""

    def __init__(self, agent: Agent[Any, Any], model: Model) -> None:
        """Take an agent, and the model that it is to ask."""
        super().__init__(model)
        self._agent = agent

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Run the agent on the last message; what goes before is its history.

        Raises:
            ModelAPIError: The model can't be asked.
            UnexpectedModelBehavior: The agent came to no answer.
        """
        if model_request_parameters.output_object is not None:
            own = self._agent.model_settings
            base = None if callable(own) else own
            settings = merge_model_settings(base, model_settings)
            return await self.wrapped.request(messages, settings, model_request_parameters)
        *history, last = messages
        result = await self._agent.run(
            _prompt(last),
            message_history=history or None,
            instructions=last.instructions if isinstance(last, ModelRequest) else None,
            model=self._traced(),
            model_settings=model_settings,
        )
        usage = result.usage
        estimated = usage.details.get(ESTIMATED, 0)
        output: Any = result.output
        return ModelResponse(
            parts=[TextPart(output if isinstance(output, str) else to_json(output).decode())],
            usage=RequestUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                details={ESTIMATED: estimated} if estimated else {},
            ),
            model_name=self.wrapped.model_name,
            provider_name=self.wrapped.system,
            finish_reason=result.response.finish_reason,
            provider_details={REQUESTS: usage.requests},
        )

    def _traced(self) -> Model:
        """Return the model, with what has the agent's run, requests and tools traced."""
        settings = request_tracing()
        return self.wrapped if settings is None else InstrumentedModel(self.wrapped, settings)


def _prompt(message: ModelMessage) -> str:
    parts = message.parts if isinstance(message, ModelRequest) else ()
    return "\n\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
