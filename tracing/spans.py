"""A span around some work. An error in it is recorded by kind, not in words."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from opentelemetry.trace import INVALID_SPAN, Link, Span, Status, StatusCode, use_span
from prefect.settings import PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY, temporary_settings
from pydantic_ai.models.instrumented import InstrumentationSettings

from .provider import content_is_exported, is_traced, tracer, tracer_provider

__all__ = [
    "Attributes",
    "awaited_without_prefect_spans",
    "begin",
    "fail",
    "inside",
    "known",
    "request_tracing",
    "span",
    "without_prefect_spans",
]


Attributes = Mapping[str, str | bool | int | float | None]
"""Attributes of a span by their names; what is None is left out."""


@contextmanager
def span(name: str, attributes: Attributes, links: Sequence[Link] = ()) -> Generator[Span]:
    """Put a span around the work inside, within the span that is current.

    Where nobody takes spans it is one that records nothing, at no cost.
    """
    begun = begin(name, attributes, links)
    if begun is INVALID_SPAN:
        yield begun
        return
    try:
        with inside(begun):
            yield begun
    except (asyncio.CancelledError, GeneratorExit):
        begun.set_attribute("prefect_swarm.outcome", "cancelled")
        raise
    except BaseException as error:
        _fail_by(begun, error)
        raise
    finally:
        begun.end()


def begin(name: str, attributes: Attributes, links: Sequence[Link] = ()) -> Span:
    """Begin a span within the current one; the caller ends it."""
    if (made := tracer()) is None:
        return INVALID_SPAN
    return made.start_span(name, attributes=known(attributes), links=list(links))


def inside(begun: Span) -> AbstractContextManager[Span]:
    """Make a span the current one for the work inside; it is not ended, and no error is noted."""
    return use_span(begun, record_exception=False, set_status_on_exception=False)


def fail(failed: Span, kind: str, words: str | None = None) -> None:
    """Note that what a span is about has failed.

    Args:
        failed: The span.
        kind: What kind of failure it is; it is exported.
        words: What was wrong; exported only where the user says so.
    """
    failed.set_attribute("error.type", kind)
    shown = words if words and content_is_exported() else None
    failed.set_status(Status(StatusCode.ERROR, shown))


def known(attributes: Attributes) -> dict[str, str | bool | int | float]:
    """Return the attributes that have a value."""
    return {name: value for name, value in attributes.items() if value is not None}


def _fail_by(failed: Span, error: BaseException) -> None:
    fail(failed, type(error).__qualname__, str(error))
    if content_is_exported():
        failed.record_exception(error)


T = TypeVar("T")


@contextmanager
def without_prefect_spans() -> Generator[None]:
    """Have Prefect make no spans inside, unless the user wants content exported."""
    if not is_traced() or content_is_exported():
        yield
        return
    with temporary_settings({PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY: False}):
        yield


async def awaited_without_prefect_spans(work: Coroutine[Any, Any, T]) -> T:
    """Await some work in which Prefect makes no spans, unless content is exported."""
    with without_prefect_spans():
        return await work


def request_tracing() -> InstrumentationSettings | None:
    """Return pydantic-ai's settings for a request; None if this package traces nothing.

    None leaves it to what the user has set for all agents, such as `Agent.instrument_all`.
    """
    if (provider := tracer_provider()) is None:
        return None
    shown = content_is_exported()
    return InstrumentationSettings(
        tracer_provider=provider,
        include_content=shown,
        include_binary_content=shown,
        include_model_request_parameters=shown,
    )
