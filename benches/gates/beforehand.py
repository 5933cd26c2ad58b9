"""A local model that computes as ever and answers what was written beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

__all__ = ["Beforehand"]


class Beforehand(WrapperModel):
    """The embedded model, whose texts are put aside for those it is given."""

    def __init__(self, config: EngineConfig, answers: Mapping[str, tuple[str, int]]) -> None:
        """Take the answers.

        Args:
            answers: By what a prompt begins with: its answer, and the tokens that are computed
                for it. What isn't there is answered with one word.
        """
        super().__init__(LlamaCppModel(demo_model_path(), config=config))
        self._answers = answers

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Have the model write its tokens, and answer."""
        asked = _prompt(messages)
        found = (answer for prompt, answer in self._answers.items() if prompt in asked)
        text, tokens = next(found, ("done", 1))
        settings = LlamaCppSettings(**(model_settings or {}))
        settings["max_tokens"] = tokens
        # Whatever it writes it writes to the end.
        settings["llamacpp_watch"] = lambda _: ""
        response = await self.wrapped.request(messages, settings, model_request_parameters)
        return replace(response, parts=[TextPart(text)])


def _prompt(messages: list[ModelMessage]) -> str:
    parts = [
        part for message in messages if isinstance(message, ModelRequest) for part in message.parts
    ]
    return "\n\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
