"""A local GGUF file as a pydantic-ai model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from ...errors import InputError, StepTimeoutError
from ...host.system import require_llama_cpp
from ..answers.stream import read_texts
from ..names import Profile
from ..streaming import sink_for_thread
from .api import EngineConfig, GeneratedText, GenerateRequest
from .asking import (
    LlamaCppSettings,
    LlamaCppStream,
    details_of,
    finish_of,
    offered_tools,
    parts_of,
    streamed_text,
    to_request,
    usage_of,
)
from .gguf import chat_template_of, check_adapter, check_model_file, planner_adapter
from .limits import config_with, engine_config_for, limits_of
from .served import answer
from .tool_calls import parse_answer, style_of

__all__ = ["LlamaCppModel", "LlamaCppSettings"]


_PROFILE = ModelProfile(
    supports_tools=True,
    supports_json_schema_output=True,
    native_output_requires_schema_in_instructions=True,
    default_structured_output_mode="prompted",
    # A rendered template is tokenized as a whole, so no text in it may be able to open a turn.
    may_tokenize_special_tokens_in_content=True,
    ignore_streamed_leading_whitespace=True,
)


class LlamaCppModel(Model):
    """Answers with llama.cpp. Cheap to make: the file loads at the first request.

    It loads in this process, unless `prefect-swarm serve` serves it on this machine.

    Example:
        ```python
        agent = Agent(LlamaCppModel("models/qwen2.5-7b-instruct-q4_k_m.gguf"))
        ```
    """

    unsupported_settings = frozenset(
        {
            "extra_body",
            "extra_headers",
            "frequency_penalty",
            "logit_bias",
            "max_retries",
            "presence_penalty",
            "service_tier",
        }
    )

    def __init__(
        self,
        path: str | Path,
        *,
        config: EngineConfig | None = None,
        settings: LlamaCppSettings | ModelSettings | None = None,
        planner_adapter: Literal["default"] | Path | None = "default",
    ) -> None:
        """Take a model file.

        Args:
            path: A GGUF file of a model that is tuned for chat.
            config: How it is served; models with the same file and config share one engine. None
                follows the file and this machine.
            settings: Defaults for its requests.
            planner_adapter: The LoRA adapter that is applied to plans only; by default the
                config's, or the shipped one if it is made for this file.

        Raises:
            InputError: llama.cpp is not installed.
            ModelError: The model file or the adapter is not valid.
        """
        require_llama_cpp()
        super().__init__(settings=settings, profile=_PROFILE)
        self._path = check_model_file(path)
        self._config = config or engine_config_for(self._path)
        self._limits = limits_of(self._path, self._config)
        self._planner_adapter = (
            check_adapter(planner_adapter) if isinstance(planner_adapter, Path) else planner_adapter
        )

    @property
    def model_name(self) -> str:
        """The file's name without its ending."""
        return self._path.stem

    @property
    def system(self) -> str:
        """The provider's name."""
        return "llamacpp"

    @property
    def path(self) -> Path:
        """The model file."""
        return self._path

    @property
    def config(self) -> EngineConfig:
        """How it is served."""
        return self._config

    @property
    def limits(self) -> Profile:
        """What it is given and asked for where the user sets nothing."""
        return self._limits

    @property
    def planner_adapter(self) -> Path | None:
        """The adapter to plan with; a request applies it by the setting `llamacpp_adapter`.

        Raises:
            ModelError: The shipped adapter is damaged.
        """
        chosen = self._planner_adapter
        if isinstance(chosen, str):
            return self._config.adapter or planner_adapter(self._path)
        return chosen

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer one request.

        Raises:
            ContextTooSmallError: Prompt and answer don't fit into the context.
            InputError: The request holds more than text, or its grammar is wrong.
            ModelError: The model can't be loaded, or llama.cpp failed.
            StepTimeoutError: The setting `timeout` ran out.
        """
        self._refuse_native_tools(model_request_parameters)
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        # The grammar of many tools takes a while, in which the run's other steps go on.
        request, names = await asyncio.to_thread(
            self._to_request, messages, settings or {}, parameters
        )
        request = replace(request, on_text=sink_for_thread())
        async with self._in_time(settings):
            done = await self._generate(request, settings)
        answer = ModelResponse(
            parts=parts_of(done, names),
            usage=usage_of(done),
            model_name=self.model_name,
            provider_name=self.system,
            finish_reason=finish_of(done, parse_answer(done.text, names)),
            provider_details=details_of(done),
        )
        return read_texts(answer, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - pydantic-ai hands it in
    ) -> AsyncGenerator[StreamedResponse]:
        """Answer one request while it is written; raises what `request` does."""
        self._refuse_native_tools(model_request_parameters)
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        request, names = await asyncio.to_thread(
            self._to_request, messages, settings or {}, parameters
        )

        async def generate(request: GenerateRequest) -> GeneratedText:
            async with self._in_time(settings):
                return await self._generate(request, settings)

        async with streamed_text(generate, request) as streamed:
            yield LlamaCppStream(
                parameters,
                pieces=streamed.pieces,
                names=names,
                local_model_name=self.model_name,
                stop=streamed.stop,
            )

    @asynccontextmanager
    async def _in_time(self, settings: ModelSettings | None) -> AsyncGenerator[None]:
        timeout = (settings or {}).get("timeout")
        seconds = timeout if isinstance(timeout, int | float) else None
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise StepTimeoutError(
                f"The local model {self.model_name} did not answer within {seconds} s.",
                "Give it more time or a lower max_tokens.",
            ) from None

    async def _generate(
        self, request: GenerateRequest, settings: ModelSettings | None
    ) -> GeneratedText:
        return await answer(self._path, self._engine_config(settings), request)

    def _refuse_native_tools(self, parameters: ModelRequestParameters) -> None:
        if parameters.native_tools:
            kinds = ", ".join(tool.kind for tool in parameters.native_tools)
            raise InputError(
                f"The local model {self.model_name} has no tools of a provider: {kinds}.",
                "Give that agent functions of your own as tools, or another model.",
            )

    def _to_request(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
    ) -> tuple[GenerateRequest, frozenset[str]]:
        """The engine's request, and the names of the tools that may be called."""
        parts = self._get_instruction_parts(messages, parameters) or []
        has_called = any(message.tool_calls for message in _responses(messages))
        offered = offered_tools(settings, parameters, has_called=has_called)
        style = style_of(chat_template_of(self._path)) if offered.tools else "plain"
        instructions = "\n\n".join(part.content for part in parts)
        request = to_request(
            messages, instructions, settings, parameters, self._limits, offered, style
        )
        return request, offered.names

    def _engine_config(self, settings: ModelSettings | None) -> EngineConfig:
        adapter = cast("LlamaCppSettings", settings or {}).get("llamacpp_adapter")
        return config_with(self._config, Path(adapter)) if adapter else self._config


def _responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    return [message for message in messages if isinstance(message, ModelResponse)]
