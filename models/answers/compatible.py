"""A model at a server that speaks OpenAI's chat API, as such servers really do."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from openai import AsyncStream, omit
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import FinishReason, ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIStreamedResponse,
)
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from .completion import UNFINISHED, as_schema
from .provider_errors import error_in, param_of, words_of
from .reasoning import NO_TAGS
from .stream import is_event, parsed, read_events

__all__ = [
    "AS_IT_IS",
    "CompatibleModel",
    "Limit",
    "RequestForm",
    "compatible",
    "next_form",
    "shaped",
]


Chat = Sequence[Mapping[str, Any]]
Limit = Literal["max_tokens", "max_completion_tokens"]

_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)"
    r"|not support (?:the )?['\"`]?(?:system|developer)|support for system"
    r"|(?:developer|system) instruction is not enabled|without (?:a )?system"
    r"|(?:invalid|unsupported|unknown|unexpected)\b.{0,30}\brole\b.{0,20}(?:system|developer)"
    r"|(?:system|developer)['\"`]? (?:is )?(?:not (?:a )?(?:valid|supported)|unsupported|invalid)"
    r"|only user and assistant roles|(?:'user'|\"user\").{0,10}(?:'assistant'|\"assistant\")"
    r"|不支持.{0,6}system|system.{0,6}不支持",
    re.IGNORECASE,
)
_ONE_SYSTEM = re.compile(
    r"system message.{0,40}(?:beginning|first|once|start|only)|only (?:\w+ )?one system"
    r"|(?:more than one|multiple|several|duplicate|single) system|one system message"
    r"|alternat|consecutive (?:user|assistant|messages)|roles? must|same role|first message must"
    r"|\broles?\b.{0,60}\bmust be"
    r"|unexpected role|角色.{0,10}交替|交替",
    re.IGNORECASE,
)
_ABOUT_A_VALUE = re.compile(
    r"too (?:large|big|high)|at most|greater|less than|range|exceed|larger", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RequestForm:
    """What a server takes.

    Attributes:
        system: Instructions as they are, as one system message with no role twice in a row, or
            within the first message of the user.
        limit: The field that bounds an answer; None leaves it to the model's profile.
        stream_options: Whether a stream is asked to say what it took.
        response_format: Whether JSON is asked for by a field.
    """

    system: Literal["as they are", "merged", "user's"] = "as they are"
    limit: Limit | None = None
    stream_options: bool = True
    response_format: bool = True


AS_IT_IS = RequestForm()


def next_form(words: str, form: RequestForm, chat: Chat, limit: Limit | None) -> RequestForm | None:
    """Return the form that a refused request is sent in again; None where it can't be helped.

    Args:
        words: What the server says.
        form: What it was sent in.
        chat: The messages that it was sent, before any form was given to them.
        limit: The field that it bounded the answer with, if it did.
    """
    lower = words.lower()
    if _NO_SYSTEM.search(words) and form.system != "user's":
        return replace(form, system="user's")
    if _ONE_SYSTEM.search(words) and form.system != "user's":
        merged = shaped(chat, replace(form, system="merged"))
        helps = form.system == "as they are" and merged != list(chat)
        return replace(form, system="merged" if helps else "user's")
    if "max_completion_tokens" in lower or "max_tokens" in lower:
        wanted = _limit(lower)
        return replace(form, limit=wanted) if limit and wanted not in (None, limit) else None
    if "stream_options" in lower and form.stream_options:
        return replace(form, stream_options=False)
    names_format = "response_format" in lower or "json_object" in lower or "json mode" in lower
    if names_format and form.response_format:
        return replace(form, response_format=False)
    return None


def shaped(chat: Chat, form: RequestForm) -> list[Mapping[str, Any]]:
    """Return the messages of a request in a form."""
    if form.system == "as they are":
        return list(chat)
    system = [message for message in chat if _is_system(message)]
    others = [message for message in chat if not _is_system(message)]
    instructions = "\n\n".join(_text(message) for message in system)
    if not instructions:
        return _joined(others)
    if form.system == "merged":
        return [{**system[0], "content": instructions}, *_joined(others)]
    return _joined([{"role": "user", "content": instructions}, *others])


def _limit(words: str) -> Limit | None:
    if _ABOUT_A_VALUE.search(words):
        return None
    if re.search(r"use ['\"`]?max_completion_tokens", words):
        return "max_completion_tokens"
    if "max_completion_tokens" in words:
        return "max_tokens"
    return "max_completion_tokens"


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("system", "developer")


def _joined(messages: Chat) -> list[Mapping[str, Any]]:
    """Join neighbours of the same role; calls of tools and their results stay apart."""
    joined: list[Mapping[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last and _joins(last) and _joins(message) and last["role"] == message["role"]:
            joined[-1] = {**last, "content": _both(last.get("content"), message.get("content"))}
        else:
            joined.append(message)
    return joined


def _joins(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("user", "assistant") and not message.get("tool_calls")


def _both(first: object, second: object) -> object:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: object) -> list[object]:
    if isinstance(content, list):
        return cast("list[object]", content)
    return [{"type": "text", "text": content}] if content else []


def _text(message: Mapping[str, Any]) -> str:
    content: object = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Mapping[str, Any]]", content) if isinstance(content, list) else []
    return "\n\n".join(str(part.get("text", "")) for part in parts)


_TOO_DEEP = "it sent JSON with too many brackets within one another"


@dataclass(slots=True)
class _Server:
    """What is known of a model at a server.

    Attributes:
        form: The form of requests that it takes.
        ends: Whether its streams say how they ended. One that doesn't, and marks the end all the
            same, is believed the second time.
    """

    form: RequestForm = AS_IT_IS
    ends: Literal["unknown", "with a reason", "with a mark"] = "unknown"


# Put in and found by `_server`, by address and model: what a server takes outlives the clients,
# which are made for each event loop.
_servers: dict[tuple[str, str], _Server] = {}


def compatible(model: Model) -> Model:
    """Return a model that reads what compatible servers send; any but OpenAI's chat model as it is.

    It shares the client with the model that was given, and holds it.
    """
    if type(model) is not OpenAIChatModel or model.provider is None:
        return model
    profile = getattr(model, "_profile", None)
    made = CompatibleModel(
        model.model_name, provider=model.provider, profile=profile, settings=model.settings
    )
    made.original = model
    return made


@dataclass
class _Stream(OpenAIStreamedResponse):
    """A stream that says whether it was ended."""

    server: _Server = field(default_factory=_Server)

    async def _validate_response(self) -> AsyncIterator[ChatCompletionChunk]:  # pyright: ignore[reportIncompatibleMethodOverride]
        async for chunk in self._response:
            if any(choice.finish_reason for choice in chunk.choices):
                self.server.ends = "with a reason"
            yield chunk

    def _add_usage(self, usage: RequestUsage, *, reported: bool, cumulative: bool = False) -> None:
        """Take the highest counts: servers count with each piece, or say the last ones twice."""
        if reported:
            before, cumulative = self._usage, True
            usage = replace(
                usage,
                input_tokens=max(usage.input_tokens, before.input_tokens),
                output_tokens=max(usage.output_tokens, before.output_tokens),
            )
        super()._add_usage(usage, reported=reported, cumulative=cumulative)

    def _missing_finish_reason(self) -> FinishReason:
        is_marked = bool(getattr(self._response.source, "is_marked", False))
        if is_marked and self.server.ends == "with a mark":
            return "stop"
        if is_marked and self.server.ends == "unknown":
            self.server.ends = "with a mark"
        self.provider_details = {**(self.provider_details or {}), UNFINISHED: True}
        return "stop"


class CompatibleModel(OpenAIChatModel):
    """Reads the answers of compatible servers, and asks them in the form that they take."""

    original: Model | None = None
    """The model that it was made of: its identity stands for this one."""

    @property
    def _server(self) -> _Server:
        return _servers.setdefault((str(self.base_url), self.model_name), _Server())

    @property
    def profile(self) -> OpenAIModelProfile:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The model's profile, with what its server turned out not to take."""
        profile, form = super().profile, self._server.form
        # The reader finds reasoning; of one that isn't closed the client would keep no trace.
        changes = OpenAIModelProfile(thinking_tags=NO_TAGS)
        if form.limit is not None:
            is_new = form.limit == "max_completion_tokens"
            changes["openai_chat_supports_max_completion_tokens"] = is_new
        if not form.response_format:
            changes["supports_json_object_output"] = False
        return cast("OpenAIModelProfile", merge_profile(profile, changes))

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Stream

    async def _process_streamed_response(
        self,
        response: AsyncStream[ChatCompletionChunk],
        model_request_parameters: ModelRequestParameters,
        model_settings: OpenAIChatModelSettings | None = None,
    ) -> OpenAIStreamedResponse:
        stream = await super()._process_streamed_response(
            response, model_request_parameters, model_settings
        )
        if isinstance(stream, _Stream):
            stream.server = self._server
        return stream

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer a request, sent once more in each other form that the server's words ask for."""
        while True:
            form = self._server.form
            try:
                return await super().request(messages, model_settings, model_request_parameters)
            except ModelAPIError as error:
                await self._change(error, form, messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Open a stream, once more in each other form, whose first event is not an error."""
        asked = (messages, model_settings, model_request_parameters)
        async with AsyncExitStack() as opened:
            while True:
                form = self._server.form
                try:
                    stream = super().request_stream(*asked, run_context)
                    answer = await opened.enter_async_context(stream)
                except ModelAPIError as error:
                    await self._change(error, form, *asked)
                else:
                    break
            yield answer

    async def _change(
        self,
        error: ModelAPIError,
        form: RequestForm,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> None:
        """Note the form that a server asks for which refused one.

        Raises:
            ModelAPIError: It asks for none that it wasn't sent.
        """
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        chat = await super()._map_messages(messages, parameters, model_settings=settings or {})
        plain = [cast("Mapping[str, Any]", message) for message in chat]
        limit = self._limit() if (settings or {}).get("max_tokens") else None
        other = next_form(f"{words_of(error)} {param_of(error)}", form, plain, limit)
        if other is None:
            raise error
        self._server.form = other

    async def _completions_create(self, *args: Any, **named: Any) -> Any:
        create: Any = super()._completions_create
        try:
            answer = await create(*args, **named)
        except RecursionError as error:
            raise ModelAPIError(self.model_name, _TOO_DEEP, body=_TOO_DEEP) from error
        except ModelAPIError as error:
            if not isinstance(cause := error.__cause__, UnicodeDecodeError):
                raise
            # It isn't UTF-8 throughout: what is not a character is shown as such.
            return bytes(cause.object).decode(errors="replace")
        if isinstance(answer, AsyncStream):
            return await self._opened(cast("AsyncStream[Any]", answer))
        return answer

    async def _map_messages(self, *args: Any, **named: Any) -> Any:
        chat = await super()._map_messages(*args, **named)
        form = self._server.form
        return shaped(cast("list[Mapping[str, Any]]", chat), form)

    def _get_stream_options(self, model_settings: OpenAIChatModelSettings) -> Any:
        options = super()._get_stream_options(model_settings)
        if self._server.form.stream_options:
            return options

        return omit

    def _process_response(
        self, response: ChatCompletion | str | object, **named: Any
    ) -> ModelResponse:
        completion = self._completion(response)
        return super()._process_response(completion, **named)

    def _completion(self, response: object) -> ChatCompletion:
        """Read a body that came with status 200.

        Raises:
            ModelAPIError: It has an error in an answer's place, or nothing.
        """
        body: object = response
        if isinstance(response, ChatCompletion):
            body = response.model_dump(warnings=False, exclude_unset=True)
        elif isinstance(response, str):
            body = parsed(response)
        if (error := error_in(body, self.model_name)) is not None:
            raise error
        fields = as_schema(cast("Mapping[str, Any]", body), self.model_name)
        return ChatCompletion.construct(**fields)

    async def _opened(self, stream: AsyncStream[Any]) -> Any:
        """Return a stream whose end is noted, or the answer where the server sent no stream."""
        kind = stream.response.headers.get("content-type", "")
        if "event-stream" not in kind and ("json" in kind or "html" in kind):
            content = await stream.response.aread()
            if not is_event(content):
                return self._process_response(parsed(content.decode(errors="replace")))
        read_events(stream, self.model_name)
        return stream

    def _limit(self) -> Limit:
        is_new = self.profile.get("openai_chat_supports_max_completion_tokens", True)
        return "max_completion_tokens" if is_new else "max_tokens"
