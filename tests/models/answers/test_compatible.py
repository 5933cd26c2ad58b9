"""Answers of compatible servers with status 200, and the forms of requests they take."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from prefect_swarm.models.answers.usage import ESTIMATED
from prefect_swarm.models.resolve import resolve_model
from prefect_swarm.models.streaming import streaming_to
from provider_runs import InTurn, hurried
from provider_server import Asked, ProviderServer, Reply, provider_server
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    ModelServerError,
)
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

FINE = Reply("It is deep.")
ASKED: list[ModelMessage] = [ModelRequest.user_text_prompt("How deep is it?")]


class Listener:
    def begin(self) -> None: ...
    def add(self, piece: str) -> None: ...


def body(**fields: Any) -> Reply:
    return Reply(raw=json.dumps(fields).encode())


def completion(text: str | None = "It is deep.", reason: Any = "stop", **fields: Any) -> Reply:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return body(**{"id": "1", "model": "m", "choices": [choice], "usage": usage, **fields})


def events(*chunks: Any, done: bool = True) -> Reply:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    text = "".join([*lines, "data: [DONE]\n\n" if done else ""])
    return Reply(raw=text.encode(), kind="text/event-stream")


def chunk(text: str = "", reason: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"} | {
        "choices": [choice],
        **fields,
    }


def answered(
    server: ProviderServer,
    messages: list[ModelMessage] = ASKED,
    *,
    stream: bool = False,
    parameters: ModelRequestParameters | None = None,
    **settings: Any,
) -> ModelResponse:
    """Ask the server's model, through its limiter."""

    async def ask() -> ModelResponse:
        model = await resolve_model(server.name(), "worker")
        with streaming_to(Listener(), of_providers=stream):
            return await model_request(
                model,
                messages,
                model_settings=ModelSettings(**settings),
                model_request_parameters=parameters,
            )

    with hurried(server):
        return asyncio.run(ask())


def serving(*replies: Reply) -> Any:
    return provider_server(InTurn(replies), models=("strong-model",))


def error_of(reply: Reply, *, stream: bool = False) -> tuple[ModelAPIError, int]:
    """The error that a reply leads to when it is always the same, and how often it was sent."""
    with serving(reply) as server, pytest.raises(ModelAPIError) as caught:
        answered(server, stream=stream)
    return caught.value, len(server.asked)


_LATER = [
    Reply(status=400, raw=b'{"__type": "ThrottlingException", "message": "Too many tokens."}'),
    Reply(status=400, error={"code": "rate_limit_exceeded", "message": "Rate limit exceeded"}),
    Reply(status=403, error={"code": 30011, "message": "RPM limit exceeded."}),
    Reply(status=424, error={"message": "Model is loading"}),
    Reply(status=449, error={"message": "You exceeded your current rate limit"}),
    Reply(status=498, error={"code": "capacity_exceeded", "message": "Flex capacity exceeded"}),
    body(error={"code": 429, "message": "Slow down."}),
    body(error={"code": "429", "message": "Slow down."}),
    body(error={"message": "Slow down.", "type": "rate_limit_error"}),
    body(error={"message": "Provider returned error", "code": 503, "metadata": {"raw": "busy"}}),
    body(choices=None, error={"code": 502, "message": "Upstream is gone."}),
    body(id="1", choices=[{"error": {"code": 502, "message": "Lost."}, "finish_reason": "error"}]),
    body(base_resp={"status_code": 1002, "status_msg": "rate limit"}, choices=None),
    body(error={"message": "overloaded", "type": "overloaded_error"}),
    body(choices=None),
    body(choices=[]),
    body(id="1", choices=None, usage=None),
    Reply(raw=b"[]"),
    Reply(raw=b"null"),
    Reply(raw=b""),
    Reply(raw=b"{}"),
    Reply(raw=b'{"choices": ['),
    Reply(raw=b"<html><title>Login</title></html>", kind="text/html"),
    Reply(raw=b"<html><title>Login</title></html>"),
    Reply(raw=b"upstream connect error", kind="text/plain"),
    completion(None, "error"),
    completion("Half of", "error"),
    completion("Half of", "network_error"),
    completion("Half of", "insufficient_system_resource"),
    completion("Half of", "failed"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("broken", _LATER, ids=lambda reply: (reply.raw or b"").decode()[:60])
def test_what_is_no_answer_is_asked_for_again(broken: Reply, *, stream: bool) -> None:
    with serving(broken, FINE) as server:
        assert answered(server, stream=stream).text == "It is deep."
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (body(error={"code": 401, "message": "Wrong key."}), ModelAuthenticationError),
        (body(error={"code": "invalid_api_key", "message": "no"}), ModelAuthenticationError),
        (body(error={"code": 402, "message": "Pay."}), ModelQuotaExceededError),
        (body(error={"code": "insufficient_quota", "message": "x"}), ModelQuotaExceededError),
        (body(error={"code": 404, "message": "No model."}), ModelNotFoundError),
        (body(error={"code": 400, "message": "Bad."}), ModelRequestRejectedError),
        (
            body(error={"code": 400, "message": "maximum context length is 8 tokens"}),
            ModelContextWindowExceededError,
        ),
        (
            Reply(status=413, raw=b"<html><h1>413 Request Entity Too Large</h1></html>"),
            ModelContextWindowExceededError,
        ),
        (
            Reply(
                status=429,
                error={
                    "message": "Request too large for model `m` on tokens per minute (TPM): "
                    "Limit 6000, Requested 12328, please reduce your message size.",
                    "code": "rate_limit_exceeded",
                },
            ),
            ModelContextWindowExceededError,
        ),
        (Reply(status=429, error={"code": "1113", "message": "余额不足"}), ModelQuotaExceededError),
        (Reply(status=501, error={"message": "Not here."}), ModelServerError),
        (
            Reply(
                status=400,
                raw=b'[{"error": {"code": 400, "message": "API key not valid.", "status": '
                b'"INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}]',
            ),
            ModelAuthenticationError,
        ),
        (Reply(status=400, error={"message": "Model Not Exist"}), ModelNotFoundError),
        (Reply(status=499, error={"message": "cancelled"}), ModelHTTPError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_another_try_cannot_help_is_sent_once(
    reply: Reply, kind: type[ModelAPIError], *, stream: bool
) -> None:
    error, sent = error_of(reply, stream=stream)
    assert isinstance(error, kind)
    assert sent == 1


def test_a_web_page_is_said_to_be_one() -> None:
    error, sent = error_of(Reply(raw=b"<!DOCTYPE html><title>Sign in</title>", kind="text/html"))
    assert "a web page, 'Sign in'" in str(error)
    assert sent == 4


def test_an_error_in_a_stream_is_the_error_of_its_code() -> None:
    broken = events(chunk("It is"), {"error": {"code": 429, "message": "Slow."}})
    with serving(broken, FINE) as server:
        assert answered(server, stream=True).text == "It is deep."
    error, _ = error_of(events({"error": {"message": "Wrong", "code": 401}}), stream=True)
    assert isinstance(error, ModelAuthenticationError)


_IN_STREAMS = [
    ({"object": "error", "message": "maximum context length is 8", "code": 400}, "Context"),
    ({"error_code": 336007, "error_msg": "the max input characters is 2000"}, "Context"),
    ({"detail": "Not authenticated"}, "Authentication"),
    ({"type": "error", "error": {"type": "authentication_error", "message": "no"}}, "Authent"),
    ({"choices": [{"delta": {}, "error": {"code": 402, "message": "Pay."}}]}, "Quota"),
    ({"choices": [], "error": {"code": 404, "message": "No model."}}, "NotFound"),
]


@pytest.mark.parametrize("text", [None, "It is"])
@pytest.mark.parametrize(("piece", "kind"), _IN_STREAMS)
def test_an_error_in_a_piece_s_place_is_never_an_empty_answer(
    piece: dict[str, Any], kind: str, text: str | None
) -> None:
    error, sent = error_of(events(*([chunk(text)] if text else []), piece), stream=True)
    assert kind in type(error).__name__
    assert sent == 1


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {},
        {"type": "ping"},
        {"id": "1"},
        {"choices": None},
        {"choices": [], "error": None, "prompt_filter_results": [{}]},
        {"choices": [{"index": 0, "delta": None, "error": {"code": 0, "message": ""}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [None, {"function": None}]}}]},
        {"choices": ["?"]},
        {"choices": [{"index": 0, "text": "", "finish_reason": ""}], "created": "now"},
    ],
)
def test_a_piece_that_says_nothing_is_passed_over(odd: Any) -> None:
    with serving(events(odd, chunk("It is deep."), odd, chunk("", "stop"), odd)) as server:
        assert answered(server, stream=True).text == "It is deep."
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"role": "assistant", "content": "It is deep."}, "finish_reason": "stop"},
        {"text": "It is deep.", "finish_reason": "stop"},
        {"delta": "It is deep.", "finish_reason": "stop"},
    ],
)
def test_a_stream_that_is_one_whole_message_is_read(choice: dict[str, Any]) -> None:
    with serving(events({"choices": [choice]})) as server:
        assert answered(server, stream=True).text == "It is deep."


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffdata: {}\n\n".format(json.dumps(chunk("It is deep.", "stop"))),
        json.dumps({"choices": [{"message": {"content": "It is deep."}, "finish_reason": "stop"}]}),
        "\n".join(map(json.dumps, (chunk("It is "), chunk("deep."), chunk("", "stop")))),
    ],
)
def test_a_body_that_is_called_a_stream_and_is_none_is_read(text: str) -> None:
    with serving(Reply(raw=text.encode(), kind="text/event-stream")) as server:
        assert answered(server, stream=True).text == "It is deep."
    assert len(server.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_bytes_that_are_no_characters_become_one_that_says_so(*, stream: bool) -> None:
    choice = '{"choices": [{"%s": {"content": "Größe"}, "finish_reason": "stop"}]}'
    if stream:
        text = "data: " + choice % "delta" + "\n\ndata: [DONE]\n\n"
        reply = Reply(raw=text.encode("latin-1"), kind="text/event-stream")
    else:
        reply = Reply(raw=(choice % "message").encode("latin-1"))
    with serving(reply) as server:
        assert answered(server, stream=stream).text == "Gr\ufffd\ufffde"
    assert len(server.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_json_that_is_nested_too_deeply_is_no_answer(*, stream: bool) -> None:
    deep = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with serving(Reply(raw=deep), FINE) as server:
        assert answered(server, stream=stream).text == "It is deep."


def test_a_web_page_that_is_called_a_stream_is_said_to_be_one() -> None:
    page = Reply(raw=b"<html><title>Sign in</title></html>", kind="text/event-stream")
    error, _ = error_of(page, stream=True)
    assert "a web page, 'Sign in'" in str(error)


_FILTERED = [
    Reply(status=400, error={"code": "content_filter", "message": "It was filtered."}),
    Reply(status=400, error={"message": "The prompt triggers our content management policy."}),
    Reply(
        status=403,
        raw=b'{"code": "No permission", "error": "Content violates usage guidelines."}',
    ),
    Reply(status=400, error={"code": "data_inspection_failed", "message": "inappropriate content"}),
    Reply(status=400, error={"code": "1301", "message": "系统检测到输入可能包含不安全或敏感内容"}),
    body(error={"code": 400, "message": "Content Exists Risk"}),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply", _FILTERED)
def test_a_filter_refuses_in_the_providers_words(reply: Reply, *, stream: bool) -> None:
    with serving(reply) as server:
        answer = answered(server, stream=stream)
    assert answer.finish_reason == "content_filter"
    words = (answer.provider_details or {})["refusal"]
    assert words in json.dumps(
        [reply.error, (reply.raw or b"").decode()], ensure_ascii=False
    ).replace('\\"', '"')
    assert len(server.asked) == 1


_ENDS = [
    ("stop", "stop"),
    ("eos", "stop"),
    ("end_turn", "stop"),
    ("STOP", "stop"),
    ("FinishReason.STOP", "stop"),
    ("max_tokens", "length"),
    ("MAX_TOKENS", "length"),
    ("model_length", "length"),
    ("guardrail_intervened", "content_filter"),
    ("sensitive", "content_filter"),
    ("SAFETY", "content_filter"),
    ("RECITATION", "content_filter"),
    ("blocklist", "content_filter"),
    ("", "stop"),
    (None, "stop"),
    ("strange", None),
    (7, None),
]


@pytest.mark.parametrize(("raw", "end"), _ENDS)
def test_an_end_has_one_meaning(raw: Any, end: str | None) -> None:
    with serving(completion("It is deep.", raw)) as server:
        answer = answered(server)
    assert (answer.finish_reason, answer.text) == (end, "It is deep.")


@pytest.mark.parametrize(("raw", "end"), [each for each in _ENDS if each[0] and each[0] != 7])
def test_an_end_of_a_stream_has_the_same_meaning(raw: str, end: str | None) -> None:
    with serving(events(chunk("It is deep."), chunk("", raw))) as server:
        answer = answered(server, stream=True)
    assert (answer.finish_reason, answer.text) == (end, "It is deep.")


@pytest.mark.parametrize("done", [False, True])
def test_a_stream_without_an_end_is_asked_for_again(*, done: bool) -> None:
    broken = events(chunk("It is"), done=done)
    whole = events(chunk("It is deep."), chunk("", "stop"))
    with serving(broken, whole) as server:
        assert answered(server, stream=True).text == "It is deep."
    assert len(server.asked) == 2


def test_a_server_whose_streams_never_say_why_they_end_is_believed_the_second_time() -> None:
    with serving(events(chunk("It is deep."))) as server:
        assert answered(server, stream=True).text == "It is deep."
        assert answered(server, stream=True).text == "It is deep."
    assert len(server.asked) == 3


def test_a_server_that_has_said_why_is_never_believed_without() -> None:
    whole, cut = events(chunk("It is deep.", "stop")), events(chunk("It is"))
    with serving(whole, cut, cut, whole) as server:
        answered(server, stream=True)
        assert answered(server, stream=True).text == "It is deep."
    assert len(server.asked) == 4


_FORM = ModelRequestParameters(
    output_mode="prompted",
    allow_text_output=True,
    output_object=OutputObjectDefinition(json_schema={"type": "object"}, name="plan"),
)


@pytest.mark.parametrize("done", [False, True])
def test_a_stream_without_an_end_counts_where_what_was_asked_for_is_whole(*, done: bool) -> None:
    with serving(events(chunk('{"depth": 9}'), done=done)) as server:
        answer = answered(server, stream=True, parameters=_FORM)
    assert (answer.text, len(server.asked)) == ('{"depth": 9}', 1)


def test_a_stream_that_breaks_behind_what_was_asked_for_counts() -> None:
    def cut(number: int) -> None:
        if number == 2:
            raise ConnectionError

    with serving(Reply('{"depth": 9}', before_piece=cut)) as server:
        answer = answered(server, stream=True, parameters=_FORM)
    assert (answer.text, len(server.asked)) == ('{"depth": 9}', 1)


def test_a_server_that_sends_no_stream_is_read_all_the_same() -> None:
    with serving(completion("It is deep.")) as server:
        answer = answered(server, stream=True)
    assert (answer.text, answer.usage.output_tokens) == ("It is deep.", 5)


_USAGES = [
    None,
    {},
    {"prompt_tokens": None, "completion_tokens": None, "total_tokens": 0},
    {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    {"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -2},
    "none",
]


@pytest.mark.parametrize("usage", _USAGES)
@pytest.mark.parametrize("stream", [False, True])
def test_tokens_that_are_not_said_are_estimated(usage: Any, *, stream: bool) -> None:
    text = "It is deep. " * 100
    whole = completion(text, usage=usage)
    if stream:
        whole = events(chunk(text), chunk("", "stop", usage=usage))
    with serving(whole) as server:
        used = answered(server, stream=stream).usage
    assert used.output_tokens == 400
    assert used.input_tokens == 5
    assert used.details[ESTIMATED] == 1


_COUNTED = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def counting(completion: int) -> dict[str, int]:
    return {"prompt_tokens": 10, "completion_tokens": completion, "total_tokens": 10 + completion}


@pytest.mark.parametrize(
    "pieces",
    [
        [chunk("It ", usage=counting(1)), chunk("is deep.", "stop", usage=counting(5))],
        [chunk("It is deep.", "stop", usage=_COUNTED), chunk(choices=[], usage=_COUNTED)],
        [chunk("It is deep.", "stop", x_groq={"usage": _COUNTED})],
        [
            {
                "choices": [
                    {"delta": {"content": "Deep."}, "finish_reason": "stop", "usage": _COUNTED}
                ]
            }
        ],
        [chunk("It is deep.", "stop", usage={**_COUNTED, "prompt_tokens_details": {"a": "?"}})],
    ],
)
def test_the_counts_of_a_stream_are_taken_once(pieces: list[Any]) -> None:
    with serving(events(*pieces)) as server:
        used = answered(server, stream=True).usage
    assert (used.input_tokens, used.output_tokens) == (10, 5)
    assert ESTIMATED not in used.details


@pytest.mark.parametrize(
    "count", [float("inf"), float("nan"), True, 10**30, "9" * 5000, [5], -1, "many"]
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_count_is_not_counted(count: Any, *, stream: bool) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": count}
    whole = completion("It is deep. " * 100, usage=usage)
    if stream:
        whole = events(chunk("It is deep. " * 100, "stop", usage=usage))
    with serving(whole) as server:
        used = answered(server, stream=stream).usage
    assert (used.input_tokens, used.output_tokens) == (10, 400)
    assert used.details[ESTIMATED] == 1


def test_details_of_a_usage_that_are_no_counts_are_left_out() -> None:
    details = {"cached_tokens": "?", "audio_tokens": None}
    with serving(completion(usage={**_COUNTED, "prompt_tokens_details": details})) as server:
        assert answered(server).usage.output_tokens == 5
    assert len(server.asked) == 1


def test_tokens_that_are_said_count() -> None:
    with serving(completion()) as server:
        used = answered(server).usage
    assert (used.input_tokens, used.output_tokens) == (10, 5)
    assert ESTIMATED not in used.details


def test_a_provider_without_counts_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with serving(completion(usage=None)) as server:
        answered(server)
        answered(server)
    (warning,) = [line for line in caplog.messages if "estimated" in line]
    assert server.url.split("/")[2] in warning


@pytest.mark.parametrize(
    "odd",
    [
        {"id": None, "object": None, "created": None, "model": None},
        {"created": "now", "object": "text_completion", "id": 7},
        {"choices": [{"message": {"content": "It is deep."}}]},
        {"choices": [{"text": "It is deep.", "finish_reason": "stop"}]},
        {
            "choices": [
                {
                    "message": {
                        "role": "model",
                        "content": [
                            {"type": "text", "text": "It is"},
                            {"type": "text", "text": " deep."},
                        ],
                    }
                }
            ]
        },
        {"service_tier": 4, "system_fingerprint": 7, "error": None},
        {"error": {"code": 0, "message": ""}},
        {"choices": [{"message": "It is deep."}]},
        {"choices": [{"message": {"content": "It is deep.", "tool_calls": []}, "logprobs": {}}]},
    ],
)
def test_an_answer_in_an_odd_form_is_read(odd: dict[str, Any]) -> None:
    with serving(completion(**odd)) as server:
        assert answered(server).text == "It is deep."
    assert len(server.asked) == 1


def template(*, refuses: Callable[[list[str]], str | None], status: int = 400) -> Any:
    """Answer as a server whose chat template refuses some orders of roles."""

    def reply(asked: Asked) -> Reply:
        roles = [message["role"] for message in asked.body["messages"]]
        words = refuses(roles)
        if words is None or status != 200:
            return FINE if words is None else Reply(status=status, error={"message": words})
        error = {"error": {"message": words}}
        return events(error, done=False) if asked.body.get("stream") else body(**error)

    return provider_server(reply, models=("strong-model",))


def no_system(roles: list[str]) -> str | None:
    return "System role not supported" if "system" in roles else None


def single_system(roles: list[str]) -> str | None:
    return "System message must be at the beginning." if roles.count("system") > 1 else None


def alternating(roles: list[str]) -> str | None:
    rest = roles[1:] if roles[0] == "system" else roles
    expected = ["user", "assistant"] * len(rest)
    fits = rest == expected[: len(rest)]
    return None if fits else "Conversation roles must alternate user/assistant/user/assistant/..."


def alternating_without_system(roles: list[str]) -> str | None:
    return alternating(roles) if roles[0] != "system" else alternating(["user", "user"])


_CONVERSATION: list[ModelMessage] = [
    ModelRequest([UserPromptPart("How deep"), UserPromptPart("is it?")]),
    ModelResponse([TextPart("Deep.")]),
    ModelRequest([UserPromptPart("How deep in m?")], instructions="You measure."),
]
_TWO = ModelRequestParameters(
    instruction_parts=[InstructionPart("You measure."), InstructionPart("Be exact.")]
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize(
    ("refuses", "extra", "roles"),
    [
        (no_system, 1, ["user", "assistant", "user"]),
        (single_system, 1, ["system", "user", "assistant", "user"]),
        (alternating, 1, ["system", "user", "assistant", "user"]),
        (alternating_without_system, 2, ["user", "assistant", "user"]),
    ],
)
def test_a_template_is_sent_the_roles_that_it_takes(
    refuses: Callable[[list[str]], str | None],
    extra: int,
    roles: list[str],
    status: int,
    *,
    stream: bool,
) -> None:
    with template(refuses=refuses, status=status) as server:
        for _ in range(2):
            answer = answered(server, _CONVERSATION, parameters=_TWO, stream=stream)
            assert answer.text == "It is deep."
    assert len(server.asked) == 2 + extra
    sent = server.asked[-1].body["messages"]
    assert [message["role"] for message in sent] == roles
    assert "You measure.\n\nBe exact." in sent[0]["content"]


def test_a_server_that_does_not_know_max_completion_tokens_is_sent_max_tokens() -> None:
    def reply(asked: Asked) -> Reply:
        if "max_completion_tokens" not in asked.body:
            return FINE
        problem = {
            "loc": ["body", "max_completion_tokens"],
            "msg": "Extra inputs are not permitted",
        }
        return Reply(status=422, raw=json.dumps({"detail": [problem]}).encode())

    with provider_server(reply, models=("strong-model",)) as server:
        answered(server, max_tokens=7)
        answered(server, max_tokens=8)
    assert [asked.body.get("max_tokens") for asked in server.asked] == [None, 7, 8]


def test_a_server_that_does_not_know_stream_options_is_sent_none() -> None:
    def reply(asked: Asked) -> Reply:
        if "stream_options" not in asked.body:
            return FINE
        return Reply(status=400, error={"message": "Unknown parameter: 'stream_options'."})

    with provider_server(reply, models=("strong-model",)) as server:
        assert answered(server, stream=True).text == "It is deep."
        assert answered(server, stream=True).usage.details[ESTIMATED] == 1
    assert len(server.asked) == 3


def test_a_server_that_names_the_field_beside_its_words_is_sent_the_other_one() -> None:
    def reply(asked: Asked) -> Reply:
        if "max_completion_tokens" not in asked.body:
            return FINE
        error = {"message": "Unsupported parameter", "param": "max_completion_tokens"}
        return Reply(status=400, error=error)

    with provider_server(reply, models=("strong-model",)) as server:
        assert answered(server, max_tokens=7).text == "It is deep."


def test_a_model_without_tools_is_not_given_up_for_it() -> None:
    words = "No endpoints found that support tool use"
    error, _ = error_of(Reply(status=404, error={"message": words, "code": 404}))
    assert isinstance(error, ModelRequestRejectedError)
    assert not isinstance(error, ModelNotFoundError)


def test_a_refusal_that_says_nothing_known_costs_one_request() -> None:
    error, sent = error_of(Reply(status=400, error={"message": "Bad request."}))
    assert isinstance(error, ModelRequestRejectedError)
    assert sent == 1


def test_the_wait_is_what_the_providers_words_ask_for() -> None:
    busy = Reply(status=429, error={"message": "Rate limit reached. Please try again in 7.5s."})

    async def ask(server: ProviderServer) -> None:
        model = await resolve_model(server.name(), "worker")
        await model_request(model, ASKED)

    with serving(busy, FINE) as server, hurried(server) as slept:
        asyncio.run(ask(server))
    assert 7.5 <= slept[0] <= 8.5


def test_a_rate_limit_that_lets_it_through_later_is_waited_for() -> None:
    words = "Rate limit reached on tokens per minute: Limit 6000, Used 5034, Requested 1443."
    busy = Reply(status=429, error={"message": words})
    with serving(busy, FINE) as server:
        assert answered(server).text == "It is deep."
    assert len(server.asked) == 2
