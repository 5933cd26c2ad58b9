"""A local GGUF file as a pydantic-ai model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ...errors import InputError, StepTimeoutError
from ...local_extra import require_llama_cpp
from ..profile import Profile
from .adapter import check_adapter, planner_adapter
from .api import EngineConfig, GeneratedText, GenerateRequest
from .engine import get_engine
from .gguf import check_model_file
from .limits import engine_config_for, limits_of
from .messages import to_chat

__all__ = ["LlamaCppModel", "LlamaCppSettings"]

# The engine with an adapter gets few requests, at most the further plans of one objective at once,
# so its cache can be smaller than that of the engine without.
_ADAPTER_SLOTS = 3

_PROFILE = ModelProfile(
    supports_tools=False,
    supports_json_schema_output=True,
    native_output_requires_schema_in_instructions=True,
    default_structured_output_mode="prompted",
    # A rendered template is tokenized as a whole, so no text in it may be able to open a turn.
    may_tokenize_special_tokens_in_content=True,
    ignore_streamed_leading_whitespace=True,
)


class LlamaCppSettings(ModelSettings, total=False):
    """Settings of a request to a local model, beside those every model has."""

    llamacpp_grammar: str
    """GBNF that the answer obeys; its start rule is `root`."""

    llamacpp_json_schema: str
    """JSON Schema that the answer is to fit, as far as a grammar can say it; `{}` is any object."""

    llamacpp_repeat_penalty: float
    """Divides the logits of what was written lately; 1 is none. Free text alone is penalised."""

    llamacpp_adapter: str
    """A GGUF file with a LoRA adapter that is applied to this answer alone."""

    llamacpp_begun: str
    """The beginning of the answer, which is written on; the response has what follows alone."""

    llamacpp_watch: Callable[[str], str]
    """Called with the text so far every few tokens, returns why to stop; see
    `GenerateRequest.watch`. A stopped text has `aborted` among its provider details."""


class LlamaCppModel(Model):
    """Answers with llama.cpp in this process. Cheap to make: the file loads at the first request.

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
            "parallel_tool_calls",
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
            InputError: The request needs tools or holds more than text, or its grammar is wrong.
            ModelError: The model can't be loaded, or llama.cpp failed.
            StepTimeoutError: The setting `timeout` ran out.
        """
        if model_request_parameters.function_tools or model_request_parameters.native_tools:
            raise InputError(
                f"The local model {self.model_name} can't call tools.",
                "Give that agent no tools, or another model.",
            )
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        parts = self._get_instruction_parts(messages, parameters) or []
        instructions = "\n\n".join(part.content for part in parts)
        request = _to_request(messages, instructions, settings or {}, parameters, self._limits)
        seconds = (settings or {}).get("timeout")
        try:
            # `get_engine` keeps the engines of this process: the first request makes it, others
            # find it.
            async with asyncio.timeout(seconds if isinstance(seconds, int | float) else None):
                done = await get_engine(self._path, self._engine_config(settings)).generate(request)
        except TimeoutError:
            raise StepTimeoutError(
                f"The local model {self.model_name} did not answer within {seconds} s.",
                "Give it more time or a lower max_tokens.",
            ) from None
        return self._to_response(done)

    def _engine_config(self, settings: ModelSettings | None) -> EngineConfig:
        adapter = cast("LlamaCppSettings", settings or {}).get("llamacpp_adapter")
        if not adapter:
            return self._config
        slots = min(self._config.n_slots, _ADAPTER_SLOTS)
        return replace(self._config, adapter=Path(adapter), n_slots=slots)

    def _to_response(self, done: GeneratedText) -> ModelResponse:
        usage = RequestUsage(
            input_tokens=done.input_tokens,
            cache_read_tokens=done.cached_tokens,
            output_tokens=done.output_tokens,
        )
        return ModelResponse(
            parts=[TextPart(done.text)],
            usage=usage,
            model_name=self.model_name,
            provider_name=self.system,
            finish_reason="error" if done.finish == "aborted" else done.finish,
            provider_details={
                "queue_s": done.queue_s,
                "duration_s": done.duration_s,
                **({"aborted": done.why} if done.why else {}),
            },
        )


def _to_request(
    messages: list[ModelMessage],
    instructions: str,
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    limits: Profile,
) -> GenerateRequest:
    given = cast("LlamaCppSettings", settings)
    defaults = GenerateRequest
    return GenerateRequest(
        messages=to_chat(messages, instructions),
        max_tokens=given.get("max_tokens", limits.max_output_tokens or defaults.max_tokens),
        may_shorten="max_tokens" not in given,
        temperature=given.get("temperature", defaults.temperature),
        top_p=given.get("top_p", defaults.top_p),
        top_k=given.get("top_k", defaults.top_k),
        repeat_penalty=given.get("llamacpp_repeat_penalty", defaults.repeat_penalty),
        seed=given.get("seed"),
        stop=tuple(given.get("stop_sequences", ())),
        grammar=given.get("llamacpp_grammar") or _json_grammar(given, parameters),
        begun=given.get("llamacpp_begun", ""),
        watch=given.get("llamacpp_watch"),
    )


def _json_grammar(given: LlamaCppSettings, parameters: ModelRequestParameters) -> str | None:
    """A grammar for JSON; what it allows beyond the schema is for the caller to refuse."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    make = cast("Callable[[str], str]", json_schema_to_gbnf)
    if parameters.output_object is not None:
        return make(json.dumps(parameters.output_object.json_schema))
    if (schema := given.get("llamacpp_json_schema")) is None:
        return None
    try:
        return make(schema)
    except Exception:  # noqa: BLE001 - without a grammar the prompt still has the schema in words
        return None
