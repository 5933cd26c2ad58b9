"""Requests to a server's engine as JSON, and its answers as lines of JSON.

A line has one of these keys: `started` (tokens of the prompt, cached ones of them, seconds of
waiting), `text` (a piece of the answer), `watch` (what the engine has written beyond the pieces,
at a moment when it would call `watch`), `done` (the answer), `error` (the engine's), `declined`
(why the server doesn't answer: it is being ended, or can't read the request).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import fields
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from ....errors import (
    ContextTooSmallError,
    EarlyAbortError,
    InputError,
    ModelError,
    ModelFailedError,
    StepTimeoutError,
    SwarmError,
)
from ..api import GeneratedText, GenerateRequest

__all__ = [
    "answer_from_json",
    "answer_to_json",
    "error_to_json",
    "proof",
    "raise_error",
    "request_from_json",
    "request_to_json",
]

_CALLBACKS = {"watch", "on_text", "on_start"}
_REQUEST = TypeAdapter(GenerateRequest)
_ANSWER = TypeAdapter(GeneratedText)
# The first that fits is what an error is on the other side.
_ERRORS: tuple[type[SwarmError], ...] = (
    ContextTooSmallError,
    ModelFailedError,
    EarlyAbortError,
    StepTimeoutError,
    ModelError,
    InputError,
)


def request_to_json(request: GenerateRequest) -> dict[str, Any]:
    """A request without what it calls."""
    return _REQUEST.dump_python(request, mode="json", exclude=_CALLBACKS)


def request_from_json(data: Any) -> GenerateRequest:
    """The request that another process made.

    Raises:
        InputError: It is none.
    """
    try:
        request = _REQUEST.validate_python(data)
    except ValidationError as error:
        raise _not_a_request(error.errors(include_url=False)[0]["msg"]) from None
    # A field that another version has and this one ignored would change the answer.
    if unknown := data.keys() - {field.name for field in fields(GenerateRequest)}:
        raise _not_a_request(f"it has {', '.join(sorted(unknown))}")
    return request


def _not_a_request(why: str) -> InputError:
    return InputError(
        f"That is no request to this version's engine: {why}.",
        "Use the same version of prefect-swarm on both sides.",
    )


def answer_to_json(answer: GeneratedText) -> dict[str, Any]:
    """An answer, with its times."""
    return _ANSWER.dump_python(answer, mode="json")


def answer_from_json(data: Any) -> GeneratedText:
    """The answer that a server gave.

    Raises:
        ValueError: It is none.
    """
    return _ANSWER.validate_python(data)


def error_to_json(error: SwarmError) -> dict[str, Any]:
    """What was wrong, what to do, and which error it is."""
    kind = next((kind for kind in _ERRORS if isinstance(error, kind)), ModelFailedError)
    saved = error.saved if isinstance(error, EarlyAbortError) else 0
    return {"kind": kind.__name__, "problem": error.problem, "fix": error.fix, "saved": saved}


def raise_error(data: dict[str, Any]) -> NoReturn:
    """Raise the error that a server had."""
    problem, fix = str(data.get("problem")), str(data.get("fix", ""))
    name = data.get("kind")
    if name == EarlyAbortError.__name__:
        raise EarlyAbortError(problem, fix, int(data.get("saved", 0)))
    known = {kind.__name__: kind for kind in _ERRORS}
    raise known.get(str(name), ModelFailedError)(problem, fix)


def proof(token: str, challenge: str) -> str:
    """What only who knows the token can answer to a challenge."""
    return hmac.new(token.encode(), challenge.encode(), hashlib.sha256).hexdigest()
