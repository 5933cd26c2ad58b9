"""The server of tests, as pydantic-ai's client of OpenAI's chat API sees it."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prefect_swarm.models.limiter import limiter_of
from provider_server import Asked, ProviderServer, Reply, forget_limits, provider_server
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    ModelRateLimitError,
)
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

NO_TOOL = ModelRequestParameters()
A_TOOL = ModelRequestParameters(function_tools=[ToolDefinition(name="weigh")])
ONCE = ModelSettings(max_retries=0)


def client_of(server: ProviderServer) -> OpenAIChatModel:
    provider = OpenAIProvider(base_url=server.url, api_key="sk-test")
    return OpenAIChatModel("strong-model", provider=provider)


async def ask(
    model: OpenAIChatModel,
    prompt: str,
    parameters: ModelRequestParameters = NO_TOOL,
    *,
    stream: bool = False,
) -> ModelResponse:
    messages = [ModelRequest.user_text_prompt(prompt, instructions="Be brief.")]
    if not stream:
        return await model_request(
            model, messages, model_settings=ONCE, model_request_parameters=parameters
        )
    async with model_request_stream(
        model, messages, model_settings=ONCE, model_request_parameters=parameters
    ) as events:
        async for _ in events:
            pass
        return events.get()


def answers(
    server: ProviderServer,
    prompts: Sequence[str] = ("Hello",),
    parameters: ModelRequestParameters = NO_TOOL,
    *,
    stream: bool = False,
) -> list[ModelResponse]:
    """Ask all prompts at once, and return their answers."""

    async def ask_all() -> list[ModelResponse]:
        async with client_of(server) as model:
            asked = [ask(model, prompt, parameters, stream=stream) for prompt in prompts]
            return await asyncio.gather(*asked)

    return asyncio.run(ask_all())


def answer_to(reply: Reply, *, tools: bool = False, stream: bool = False) -> ModelResponse:
    with provider_server(lambda _: reply) as server:
        parameters = A_TOOL if tools else NO_TOOL
        return answers(server, parameters=parameters, stream=stream)[0]


def got(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - the tests' own
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_text_is_answered_with_its_tokens() -> None:
    answer = answer_to(Reply("Grüße – 你好", input_tokens=7, output_tokens=3))
    assert (answer.text, answer.finish_reason) == ("Grüße – 你好", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)


def test_the_request_is_kept_as_it_came() -> None:
    with provider_server(lambda asked: Reply(f"about {asked.prompt}")) as server:
        assert answers(server, ["tea"])[0].text == "about tea"
    asked = server.asked[0]
    assert (asked.path, asked.prompt) == ("/v1/chat/completions", "tea")
    assert asked.texts == ["Be brief.", "tea"]
    assert asked.headers["authorization"] == "Bearer sk-test"
    assert asked.body["model"] == "strong-model"


@pytest.mark.parametrize("stream", [False, True])
def test_the_tool_that_is_offered_is_called(stream: bool) -> None:
    answer = answer_to(Reply(tool_args={"what": "Äpfel" * 20}), tools=True, stream=stream)
    (call,) = answer.tool_calls
    assert (call.tool_name, call.args_as_dict()) == ("weigh", {"what": "Äpfel" * 20})
    assert answer.finish_reason == "tool_call"


def test_arguments_that_are_not_json_arrive_as_they_are() -> None:
    answer = answer_to(Reply(tool_args='{"what": ', tool_name="other"), tools=True)
    assert [(call.tool_name, call.args) for call in answer.tool_calls] == [("other", '{"what": ')]


def test_arguments_are_the_text_where_no_tool_is_offered() -> None:
    answer = answer_to(Reply(tool_args={"what": "pears"}))
    assert (answer.text, answer.tool_calls) == ('{"what": "pears"}', [])


def test_a_request_with_tools_is_one_for_a_plan() -> None:
    with provider_server(lambda _: Reply("Done.")) as server:
        answers(server, parameters=A_TOOL)
        answers(server)
    assert [asked.is_plan for asked in server.asked] == [True, False]


def test_a_request_for_json_of_a_schema_is_one_for_a_plan() -> None:
    body = {"messages": [], "response_format": {"type": "json_schema"}}
    assert Asked("/", {}, body).is_plan


def test_a_stream_has_the_whole_text_and_its_tokens() -> None:
    text = "A long answer – über alles. " * 10
    answer = answer_to(Reply(text, input_tokens=7, output_tokens=3), stream=True)
    assert (answer.text, answer.finish_reason) == (text, "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)


def test_a_finish_reason_that_is_given_is_kept() -> None:
    assert answer_to(Reply("Half of", finish_reason="length")).finish_reason == "length"


def test_a_refusal_is_seen_as_one() -> None:
    answer = answer_to(Reply(refusal="I can't help with that."))
    assert answer.finish_reason == "content_filter"
    assert (answer.provider_details or {})["refusal"] == "I can't help with that."


def test_a_rate_limit_says_when_to_come_again() -> None:
    with pytest.raises(ModelRateLimitError, match="status 429") as caught:
        answer_to(Reply(status=429, headers={"retry-after": "7"}))
    assert caught.value.retry_after == 7


def test_an_error_has_the_body_that_is_given() -> None:
    error = {"message": "Too long.", "type": "invalid", "code": "context_length_exceeded"}
    with pytest.raises(ModelHTTPError) as caught:
        answer_to(Reply(status=400, error=error))
    assert (caught.value.status_code, caught.value.body) == (400, error)


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_is_cut_is_an_error_of_the_connection(stream: bool) -> None:
    with pytest.raises(ModelAPIError):
        answer_to(Reply("Hello " * 100, cut=True), stream=stream)


def test_a_body_that_is_not_json_can_not_be_read() -> None:
    with pytest.raises(ModelAPIError, match="as JSON"):
        answer_to(Reply(raw=b'{"choices": ['))


def test_requests_at_once_are_counted() -> None:
    barrier = threading.Barrier(6)

    def reply(_: Asked) -> Reply:
        barrier.wait(30)
        return Reply("Now.")

    with provider_server(reply) as server:
        answers(server, [f"part {number}" for number in range(6)])
        assert server.most_at_once == 6


def test_an_answer_waits_until_it_may_be_sent() -> None:
    hold = threading.Event()

    async def ask_twice(server: ProviderServer) -> tuple[bool, str | None]:
        async with client_of(server) as model:
            first = asyncio.create_task(ask(model, "held"))
            await ask(model, "not held")
            is_early = first.done()
            hold.set()
            return is_early, (await first).text

    with provider_server(
        lambda asked: Reply(asked.prompt, hold=hold if asked.prompt == "held" else None)
    ) as server:
        assert asyncio.run(ask_twice(server)) == (False, "held")


def test_the_server_ends_while_an_answer_waits() -> None:
    arrived = threading.Event()

    def reply(_: Asked) -> Reply:
        arrived.set()
        return Reply(hold=threading.Event())

    with ThreadPoolExecutor(1) as pool:
        with provider_server(reply) as server:
            waiting = pool.submit(answers, server)
            assert arrived.wait(30)
        with pytest.raises(ModelAPIError):
            waiting.result(30)


def test_a_client_may_leave_before_it_is_answered() -> None:
    arrived, hold = threading.Event(), threading.Event()

    def reply(_: Asked) -> Reply:
        arrived.set()
        return Reply(hold=hold)

    async def ask_and_leave(server: ProviderServer) -> None:
        async with client_of(server) as model:
            request = asyncio.create_task(ask(model, "Hello"))
            await asyncio.to_thread(arrived.wait, 30)
            request.cancel()

    with provider_server(reply) as server:
        asyncio.run(ask_and_leave(server))
        hold.set()
        assert answers(server)[0].finish_reason == "stop"


def test_what_the_reply_raises_is_raised_at_the_end() -> None:
    def reply(_: Asked) -> Reply:
        raise LookupError("no such prompt")

    with (
        pytest.raises(LookupError, match="no such prompt"),
        provider_server(reply) as server,
        pytest.raises(ModelHTTPError, match="no such prompt"),
    ):
        answers(server)


def test_the_models_are_listed() -> None:
    with provider_server(lambda _: Reply(), models=("small", "org/large")) as server:
        status, listed = got(f"{server.url}/models")
        assert (status, [model["id"] for model in listed["data"]]) == (200, ["small", "org/large"])
        assert got(f"{server.url}/models/org/large")[1]["id"] == "org/large"
        assert got(f"{server.url}/models/huge")[0] == 404


@pytest.mark.parametrize("route", ["models", "models/small"])
def test_a_server_may_not_list_its_models(route: str) -> None:
    with provider_server(lambda _: Reply()) as server:
        assert got(f"{server.url}/{route}")[0] == 404


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_refused_where_models_are_listed(status: int) -> None:
    with provider_server(lambda _: Reply(), models=("small",), models_status=status) as server:
        assert got(f"{server.url}/models")[0] == status


def test_settings_can_name_a_model_of_the_server() -> None:
    with provider_server(lambda _: Reply()) as server:
        assert server.name("small") == f"openai:small@{server.url}"


def test_what_was_learned_of_a_server_that_had_the_port_before_is_forgotten() -> None:
    learned, other = limiter_of("127.0.0.1:9", "key"), limiter_of("127.0.0.1:99", "key")
    forget_limits("127.0.0.1:9")
    assert limiter_of("127.0.0.1:9", "key") is not learned
    assert limiter_of("127.0.0.1:99", "key") is other
