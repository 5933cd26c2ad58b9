"""What a provider's error means for the next request. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)

from ...host.certificates import certificate_problem

__all__ = ["Fault", "fault_of"]

_LATER = (408, 409, 425)
"""Statuses below 500 by which a server says that it was too early, or took too long."""
_NEVER = (501, 505)
"""Statuses from 500 on by which it says that no time will come."""


Kind = Literal["busy", "down", "broken", "denied", "unknown"]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a provider.

    Attributes:
        kind: `busy`: the provider refuses all for now. `down`: this request wasn't answered, and
            may be later. `broken`: it was, and the answer can't be read or has no end. `denied`:
            the key, its account or the server's certificate is refused. `unknown`: there is no such
            model.
        why: What it is, for people who wait.
        retry_after: Seconds that the provider asks to wait, if it does.
    """

    kind: Kind
    why: str
    retry_after: float | None = None


_KINDS: tuple[tuple[type[ModelAPIError], Kind, str], ...] = (
    (ModelQuotaExceededError, "denied", "quota exhausted"),
    (ModelAuthenticationError, "denied", "key refused"),
    (ModelNotFoundError, "unknown", "no such model"),
    (ModelRateLimitError, "busy", "rate limit"),
    (ModelUnavailableError, "busy", "overloaded"),
)


def fault_of(error: BaseException) -> Fault | None:
    """Say what an error means; None where it is about the request alone, or none of a provider."""
    for kinds, kind, why in _KINDS:
        if isinstance(error, kinds):
            return Fault(kind, why, error.retry_after)
    match error:
        case ModelRequestTimeout() | ModelConnectionError():
            return _unconnected(error)
        case ModelServerError():
            return _of_server(error)
        case ModelRequestRejectedError():
            return None
        case ModelHTTPError():
            return _by_status(error)
        case ModelAPIError() if type(error) is ModelAPIError:
            # Of no kind: what was sent with status 200 isn't an answer, or not the whole of it.
            return Fault("broken", "unreadable answer", error.retry_after)
        case _:
            return None


def _unconnected(error: ModelRequestTimeout | ModelConnectionError) -> Fault:
    if certificate_problem(error):
        return Fault("denied", "certificate not accepted")
    return Fault("down", "no connection", error.retry_after)


def _by_status(error: ModelHTTPError) -> Fault | None:
    """Say what an error means of which the status alone is known."""
    status = error.status_code
    if status in (401, 402, 403):
        return Fault("denied", "key refused")
    if status == 404:
        return Fault("unknown", "no such model")
    if status in (429, 503, 529):
        return Fault("busy", "rate limit", error.retry_after)
    return _of_server(error) if status >= 500 or status in _LATER else None


def _of_server(error: ModelAPIError) -> Fault | None:
    if isinstance(error, ModelHTTPError) and error.status_code in _NEVER:
        return None
    return Fault("down", "server error", error.retry_after)
