"""What a provider's error means for the next request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)

from ...host.certificates import certificate_problem

__all__ = ["Fault", "fault_of", "words_of"]

_WORDS = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a provider.

    Attributes:
        kind: `busy`: the provider refuses all for now. `broken`: this request met an error that
            another try may not. `denied`: it will refuse all that use the key. `unknown`: it will
            refuse all that name the model.
        why: What it is, for people who wait.
        retry_after: Seconds that the provider asks to wait, if it does.
    """

    kind: Literal["busy", "broken", "denied", "unknown"]
    why: str
    retry_after: float | None = None


def fault_of(error: BaseException) -> Fault | None:
    """Say what an error means; None where it is about the request alone, or none of a provider."""
    match error:
        case ModelQuotaExceededError():
            return Fault("denied", "quota exhausted")
        case ModelAuthenticationError():
            return Fault("denied", "key refused")
        case ModelNotFoundError():
            return Fault("unknown", "no such model")
        case ModelRateLimitError():
            return Fault("busy", "rate limit", error.retry_after)
        case ModelUnavailableError():
            return Fault("busy", "overloaded", error.retry_after)
        case ModelRequestTimeout() | ModelConnectionError():
            return _unconnected(error)
        case ModelServerError():
            return Fault("broken", "server error", error.retry_after)
        case ModelHTTPError():
            return _by_status(error)
        case ModelAPIError() if type(error) is ModelAPIError:
            # Of no kind: what was sent with status 200 isn't an answer.
            return Fault("broken", "unreadable answer", error.retry_after)
        case _:
            return None


def _unconnected(error: ModelRequestTimeout | ModelConnectionError) -> Fault:
    if certificate_problem(error):
        return Fault("denied", "certificate not accepted")
    return Fault("broken", "no connection", error.retry_after)


def _by_status(error: ModelHTTPError) -> Fault | None:
    """Say what an error means of which a model of somebody else's says the status alone."""
    status = error.status_code
    if status in (401, 402, 403):
        return Fault("denied", "key refused")
    if status == 404:
        return Fault("unknown", "no such model")
    if status in (429, 503, 529):
        return Fault("busy", "rate limit", error.retry_after)
    return Fault("broken", "server error", error.retry_after) if status >= 500 else None


def words_of(error: ModelAPIError) -> str:
    """Return what the provider itself says, with its status and no full stop at its end."""
    words = _message(error.body) or str(error.__cause__ or error)
    status = f"{error.status_code}: " if isinstance(error, ModelHTTPError) else ""
    text = " ".join(f"{status}{words}".split()).rstrip(".")
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


def _message(body: object) -> str:
    """The message within an error's body, as OpenAI, Anthropic, Google and others nest it."""
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", body)
    found = fields.get("message") or fields.get("error") or fields.get("detail")
    return _message(found) if not isinstance(found, str) else found
