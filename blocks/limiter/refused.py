"""Providers that refuse for good: within a run nothing more is sent to them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from pydantic_ai.exceptions import ModelAPIError

__all__ = ["note_refused", "refused_once", "refused_providers"]

Key = tuple[str, ...]

# `refused_providers` opens it around a run; `LimitedModel` writes and reads it. Another run may
# come with another key, or after the account was topped up.
_refused: ContextVar[dict[Key, ModelAPIError] | None] = ContextVar("refused", default=None)


@contextmanager
def refused_providers() -> Generator[None]:
    """Remember, for the requests inside, what refuses for good."""
    token = _refused.set({})
    try:
        yield
    finally:
        _refused.reset(token)


def note_refused(key: Key, error: ModelAPIError) -> None:
    """Remember a refusal, if this is within a run."""
    if (refused := _refused.get()) is not None:
        refused.setdefault(key, error)


def refused_once(*keys: Key) -> ModelAPIError | None:
    """Return the refusal that one of these met before in this run, if any."""
    refused = _refused.get() or {}
    return next((refused[key] for key in keys if key in refused), None)
