"""A local model that answers as a test says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from prefect_swarm.models.llama.chat import to_chat
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

__all__ = ["ScriptedModel"]


class ScriptedModel(LlamaCppModel):
    """A local model that says the given texts in turn and keeps what it was asked.

    Attributes:
        most_at_once: The most requests that were under way together.
    """

    def __init__(
        self,
        *texts: str,
        finish_reason: Any = "stop",
        adapter: Literal["default"] | Path | None = None,
    ) -> None:
        super().__init__(demo_model_path(), planner_adapter=adapter)
        self.settings_of_requests: list[dict[str, Any]] = []
        self.prompts: list[str] = []
        self.most_at_once = 0
        self._under_way = 0
        self._texts, self._finish_reason = iter(texts), finish_reason

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.settings_of_requests.append(dict(model_settings or {}))
        self.prompts.append("|".join(turn.content for turn in to_chat(messages)))
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        return ModelResponse(
            [TextPart(next(self._texts))],
            usage=RequestUsage(input_tokens=10, output_tokens=5),
            finish_reason=self._finish_reason,
        )
