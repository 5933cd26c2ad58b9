"""An error of a provider gets its one kind, whatever it came as. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
)
from pydantic_ai.messages import ModelResponse

from .provider_words import (
    Codes,
    codes_of,
    is_exhausted,
    is_filtered,
    is_overflow,
    is_too_large_for_its_rate,
    message_of,
    wait_in,
)

__all__ = ["error_in", "error_in_piece", "param_of", "read_error", "whole_body", "words_of"]


_Kind = type[
    ModelRateLimitError
    | ModelQuotaExceededError
    | ModelUnavailableError
    | ModelServerError
    | ModelRequestRejectedError
]

_MOST_WORDS = 300
_MOST_EXCERPT = 80
_ERROR_WORDS = ("errors", "detail", "message", "msg", "error_msg", "error_message", "error_code")
"""Fields that an error has which isn't in a field of its own."""
_NO_CODES = (None, "", 0, "0", 200, "200", False, "success", "ok", "OK", "null")
_BY_STATUS: dict[int, _Kind] = {
    400: ModelRequestRejectedError,
    401: ModelAuthenticationError,
    402: ModelQuotaExceededError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    413: ModelContextWindowExceededError,
    422: ModelRequestRejectedError,
    429: ModelRateLimitError,
    503: ModelUnavailableError,
    529: ModelOverloadedError,
}
_BY_NAME: tuple[tuple[int, tuple[str, ...]], ...] = (
    (429, ("rate_limit", "ratelimit", "rate limit", "too_many", "throttl", "resource_exhausted")),
    (529, ("overload", "over capacity", "engine_busy", "server_busy", "model_busy")),
    (401, ("api_key", "apikey", "authenticat", "unauthorized", "invalid_token")),
    (403, ("permission", "forbidden", "access_denied")),
    (404, ("model_not_found", "modelnotfound", "not_found_error", "unknown_model")),
    (503, ("unavailable", "capacity", "not_ready", "loading", "timeout", "timed_out")),
    (400, ("invalid_request", "invalid_param", "invalid_argument", "bad_request", "validation")),
    (400, ("not support", "unsupported", "unrecognized", "unknown param", "jinja", "template")),
)
_BY_NUMBER = {"1302": 429, "1303": 429, "1305": 429, "1002": 429, "1004": 401, "2013": 400}
"""Zhipu's and MiniMax's."""
_MISPLACED: tuple[tuple[_Kind, re.Pattern[str]], ...] = (
    (
        ModelRateLimitError,
        re.compile(
            r"rate_?limit|throttl|too_?many_?requests|\b[rt]pm limit|rate limit (?:is )?"
            r"(?:exceeded|reached)"
        ),
    ),
    (
        ModelAuthenticationError,
        re.compile(
            r"api_?key_?invalid|invalid_?api_?key|api key (?:is )?(?:not valid|invalid|expired)"
        ),
    ),
    (
        ModelNotFoundError,
        re.compile(r"model_?not_?found|model.{0,80}(?:does not|doesn't|not) exist|模型不存在"),
    ),
)
"""What some say with a status that is about the request: Google a wrong key, AWS a rate limit."""


def read_error(error: ModelAPIError) -> ModelResponse:
    """Raise an error as what it is; what a provider refuses to be asked is an answer: a refusal.

    Args:
        error: What the provider's client made of it, from the status alone as a rule.

    Raises:
        ModelAPIError: Another try is worth while, or isn't, as its class says.
    """
    body = whole_body(error)
    codes, words = codes_of(body), message_of(body) or error.message
    status = error.status_code if isinstance(error, ModelHTTPError) else codes.status
    is_filter = is_filtered(words, Codes(None, codes.names), status)
    if is_filter and not _is_about_size(words, codes, status):
        return _refusal(error, words)
    better = _better(error, words, codes, status)
    if better is error:
        raise error
    raise better from error


def error_in(body: object, model_name: str) -> ModelAPIError | None:
    """Return the error that a body with status 200 has in an answer's place; None if it has none.

    Args:
        body: The body, parsed; or its text, where it can't be.
        model_name: The model that was asked.
    """
    if _choices_of(body):
        fields = cast("Mapping[str, Any]", body)
        found = [fields.get("error"), fields["choices"][0].get("error")]
        if not (errors := [each for each in found if _is_error(each)]):
            return None
        body = errors[0]
    elif _is_map(body) and _has_none(cast("Mapping[str, Any]", body)):
        what = "it sent an answer with nothing in it"
        return ModelAPIError(model_name, what, body=what)
    codes, words = codes_of(body), message_of(body)
    status = codes.status or _status_by_names(codes, words)
    if status is None:
        what = f"it sent {words or _excerpt(body)} in an answer's place"
        return ModelAPIError(model_name, what, body=what)
    kind = _kind_of(words, codes, status) or _kind_of_status(status)
    return ModelHTTPError.for_category(kind, status_code=status, model_name=model_name, body=body)


def error_in_piece(piece: Mapping[str, Any], model_name: str) -> ModelAPIError | None:
    """Return the error that an event of a stream has in a piece's place; None if it has none.

    A piece without words, such as one that counts tokens or holds the connection, is none.
    """
    group: object = piece.get("x_groq")
    of_group = cast("Mapping[str, Any]", group).get("error") if _is_map(group) else None
    if _is_error(of_group):
        return error_in({"error": of_group}, model_name)
    is_error = _is_error(piece.get("error")) or _number_of_base(piece) not in (0, None)
    if not _choices_of(piece) and not is_error:
        # What has an answer's name and no error's is an answer's.
        says = [name for name in _ERROR_WORDS if piece.get(name)]
        if not says or ("choices" in piece and piece.get("object") != "error"):
            return None
    return error_in(piece, model_name)


def words_of(error: ModelAPIError) -> str:
    """Return what the provider itself says, with its status and no full stop at its end."""
    # An error that was raised as another one has the client's own behind it.
    behind = error.__cause__
    inner = behind.__cause__ if isinstance(behind, ModelAPIError) else behind
    words = message_of(whole_body(error)) or str(inner or error)
    status = f"{error.status_code}: " if isinstance(error, ModelHTTPError) else ""
    text = " ".join(f"{status}{words}".split()).rstrip(".")
    return text if len(text) <= _MOST_WORDS else f"{text[: _MOST_WORDS - 1]}…"


def param_of(error: ModelAPIError) -> str:
    """Return the field of the request that an error's body names; "" for none."""
    body = whole_body(error)
    inner: object = cast("Mapping[str, Any]", body).get("error") if _is_map(body) else None
    found = [
        cast("Mapping[str, Any]", each).get("param") for each in (inner, body) if _is_map(each)
    ]
    return next((each for each in found if isinstance(each, str)), "")


def whole_body(error: ModelAPIError) -> object:
    """Return all of an error's body: clients leave out all other fields than `error`."""
    cause: Any = error.__cause__
    if isinstance(cause, ModelAPIError):
        return whole_body(cause) or error.body
    response = getattr(cause, "response", None)
    try:
        return (response.json() if response is not None else None) or error.body
    except Exception:  # noqa: BLE001 - not JSON, or not read: what the client kept of it counts
        return error.body


def _kind_of(words: str, codes: Codes, status: int | None) -> _Kind | None:
    """Return what an error is by its words and codes; None where its client knows as much."""
    if _is_about_size(words, codes, status):
        return ModelContextWindowExceededError
    if status in (400, 402, 403, 429, None) and is_exhausted(words, codes):
        return ModelQuotaExceededError
    if status == 404 and "tool" in words.lower():
        # It has the model, but none that takes what was asked.
        return ModelRequestRejectedError
    if status in (400, 403, 422):
        text = " ".join([*sorted(codes.names), words]).lower()
        return next((kind for kind, pattern in _MISPLACED if pattern.search(text)), None)
    if status is not None and 400 < status < 500 and status not in (*_BY_STATUS, 408, 409, 425):
        return _kind_of_status(_status_by_names(codes, words))
    return None


def _is_about_size(words: str, codes: Codes, status: int | None) -> bool:
    if status in (413, 429) and is_too_large_for_its_rate(words):
        return True
    return is_overflow(words, codes, status)


def _better(error: ModelAPIError, words: str, codes: Codes, status: int | None) -> ModelAPIError:
    """Return an error that says as much as its words and codes do: itself where it does."""
    if isinstance(error, ModelConnectionError):
        return error
    cause: Any = error.__cause__
    if isinstance(text := getattr(cause, "doc", None), str):
        return error_in(text, error.model_name) or error
    kind, body = _kind_of(words, codes, status), whole_body(error)
    if kind is None and type(error) is ModelAPIError and error.in_stream:
        status = status or _status_by_names(codes, words)
        kind = _kind_of_status(status)
    wait = error.retry_after if error.retry_after is not None else _wait_of(body, words)
    is_refined = kind is ModelRequestRejectedError and isinstance(error, ModelNotFoundError)
    if kind is None or (isinstance(error, kind) and not is_refined):
        error.retry_after = wait
        return error
    known: dict[str, Any] = {
        "body": body,
        "provider_error_code": error.provider_error_code,
        "provider_error_type": error.provider_error_type,
        "retry_after": wait,
        "in_stream": error.in_stream,
    }
    if status is None:
        return kind(error.model_name, error.message, **known)
    headers = error.headers if isinstance(error, ModelHTTPError) else None
    return ModelHTTPError.for_category(
        kind, status_code=status, model_name=error.model_name, headers=headers, **known
    )


def _kind_of_status(status: int | None) -> _Kind | None:
    if status is None:
        return None
    return _BY_STATUS.get(status) or (ModelServerError if status >= 500 else None)


def _refusal(error: ModelAPIError, words: str) -> ModelResponse:
    return ModelResponse(
        [],
        model_name=error.model_name,
        finish_reason="content_filter",
        provider_details={"finish_reason": "content_filter", "refusal": words[:_MOST_WORDS]},
    )


def _wait_of(body: object, words: str) -> float | None:
    delays = [wait_in(f"wait {delay}") for delay in _retry_delays(body)]
    return next((delay for delay in delays if delay is not None), wait_in(words))


def _retry_delays(body: object) -> Iterator[str]:
    """Yield the waits that Google puts into an error's details."""
    if isinstance(body, Mapping):
        for name, value in cast("Mapping[str, Any]", body).items():
            if name == "retryDelay":
                yield str(value)
            elif name in ("error", "details"):
                yield from _retry_delays(value)
    elif isinstance(body, list):
        for item in cast("list[object]", body)[:10]:
            yield from _retry_delays(item)


def _choices_of(body: object) -> bool:
    """Whether a body has an answer, or an error in one's place among its choices."""
    choices: object = cast("Mapping[str, Any]", body).get("choices") if _is_map(body) else None
    if not isinstance(choices, list) or not choices:
        return False
    return _is_map(cast("list[object]", choices)[0])


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_error(found: object) -> bool:
    """Whether what stands in the field of an error says that there is one."""
    if _is_map(found):
        return any(value not in _NO_CODES for value in cast("Mapping[str, Any]", found).values())
    return found not in _NO_CODES and bool(found)


def _number_of_base(fields: Mapping[str, Any]) -> object:
    """Return the number that MiniMax says in each answer: 0 is that nothing is wrong."""
    base: object = fields.get("base_resp")
    return cast("Mapping[str, Any]", base).get("status_code") if _is_map(base) else 0


def _excerpt(body: object) -> str:
    text = " ".join(str(body).split()) if body else ""
    return f"{text[:_MOST_EXCERPT]}…" if len(text) > _MOST_EXCERPT else text or "nothing"


def _has_none(fields: Mapping[str, Any]) -> bool:
    """Whether a body is an answer's, except for the answer."""
    return (
        "choices" in fields
        and not _is_error(fields.get("error"))
        and _number_of_base(fields) in (0, None)
        and not (fields.get("message") or fields.get("detail") or fields.get("errors"))
    )


def _status_by_names(codes: Codes, words: str) -> int | None:
    for number, status in _BY_NUMBER.items():
        if number in codes.names:
            return status
    if is_overflow(words, codes, None) or is_filtered(words, codes, None):
        return 400
    if is_exhausted(words, codes):
        return 402
    text = " ".join([*sorted(codes.names), words.lower()])
    for status, names in _BY_NAME:
        if any(name in text for name in names):
            return status
    # It is said to be an error, and not of which kind.
    return 500 if codes.names & {"error", "server_error", "internal_error", "api_error"} else None
