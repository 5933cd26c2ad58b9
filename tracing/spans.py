"""Spans around work, and the tracer provider that they go to.

An error in a span is recorded by kind, not in words. Without a provider a span costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NoOpTracerProvider,
    ProxyTracerProvider,
    Span,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    get_tracer_provider,
    use_span,
)
from prefect.settings import PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY, temporary_settings
from pydantic_ai.models.instrumented import InstrumentationSettings

from ..settings import SwarmSettings

if TYPE_CHECKING:
    from .exporting import Exporting

__all__ = [
    "Attributes",
    "awaited_without_prefect_spans",
    "begin",
    "content_is_exported",
    "content_setting_read",
    "fail",
    "flush",
    "inside",
    "is_traced",
    "known",
    "request_tracing",
    "span",
    "wanted_exporter",
    "without_prefect_spans",
]


# Put in by `content_setting_read` around a run, whose spans ask for it all the time: reading the
# settings takes more than a millisecond.
_is_exported: ContextVar[bool | None] = ContextVar("content_is_exported", default=None)


def content_is_exported() -> bool:
    """Return whether the user has asked for it.

    Raises:
        InputError: The setting has a value that isn't allowed.
    """
    known = _is_exported.get()
    return SwarmSettings().trace_content == "on" if known is None else known


@contextmanager
def content_setting_read() -> Generator[None]:
    """Read the setting once for the work inside."""
    token = _is_exported.set(content_is_exported())
    try:
        yield
    finally:
        _is_exported.reset(token)


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXTRA = "Install them with: pip install 'prefect-swarm[traces]'"
_logger = logging.getLogger("prefect_swarm.tracing")


@dataclass(slots=True)
class _MadeOnce:
    """What this process exports by, once it was asked for."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_made: bool = False
    exporting: Exporting | None = None


_made = _MadeOnce()


def _environment_provider() -> TracerProvider | None:
    """Return the provider that the environment asks for; None if it asks for none.

    What is not available is said once, in the log, and there is no provider then.
    """
    if not _made.is_made:
        with _made.lock:
            if not _made.is_made:
                _made.exporting = _make(wanted_exporter())
                _made.is_made = True
    return _made.exporting.provider if _made.exporting else None


def wanted_exporter() -> str:
    """Return the exporter that the environment names: `otlp`, `console` or another; "" if none."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ""
    named = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if named:
        return "" if named == "none" else named
    return "otlp" if _endpoint() else ""


def _endpoint() -> str:
    """Return the collector that the environment names; "" if none."""
    configured = (os.environ.get(name, "").strip() for name in _ENDPOINTS)
    return next(filter(None, configured), "")


def flush() -> None:
    """Send the spans that wait, for two seconds at most; the user's own provider is let be."""
    if _made.exporting is not None:
        _made.exporting.flush()


def _make(exporter: str) -> Exporting | None:
    if not exporter:
        return None
    try:
        from .exporting import Exporting, exporter_of
    except ImportError as error:
        _logger.warning("No traces: OpenTelemetry's packages are missing (%s). %s", error, _EXTRA)
        return None
    made = exporter_of(exporter, _endpoint())
    if isinstance(made, str):
        _logger.warning("No traces: %s", made)
        return None
    return Exporting(made)


_SCOPE = "prefect_swarm"


def _tracer_provider() -> TracerProvider | None:
    """Return who takes spans; None if nobody does."""
    configured = get_tracer_provider()
    # Either of these is what OpenTelemetry has where nobody set a provider.
    if isinstance(configured, ProxyTracerProvider | NoOpTracerProvider):
        return _environment_provider()
    return configured


def is_traced() -> bool:
    """Return whether anybody takes spans."""
    return _tracer_provider() is not None


def _tracer() -> Tracer | None:
    """Return what makes this package's spans; None if nobody takes them."""
    provider = _tracer_provider()
    return None if provider is None else provider.get_tracer(_SCOPE)


Attributes = Mapping[str, str | bool | int | float | None]
"""Attributes of a span by their names; what is None is left out."""


@contextmanager
def span(name: str, attributes: Attributes, links: Sequence[Link] = ()) -> Generator[Span]:
    """Put a span around the work inside, within the span that is current.

    Where nobody takes spans it is one that records nothing, at no cost.
    """
    opened = begin(name, attributes, links)
    if opened is INVALID_SPAN:
        yield opened
        return
    try:
        with inside(opened):
            yield opened
    except (asyncio.CancelledError, GeneratorExit):
        opened.set_attribute("prefect_swarm.outcome", "cancelled")
        raise
    except BaseException as error:
        _fail_by(opened, error)
        raise
    finally:
        opened.end()


def begin(name: str, attributes: Attributes, links: Sequence[Link] = ()) -> Span:
    """Begin a span within the current one; the caller ends it."""
    if (made := _tracer()) is None:
        return INVALID_SPAN
    return made.start_span(name, attributes=known(attributes), links=list(links))


def inside(opened: Span) -> AbstractContextManager[Span]:
    """Make a span the current one for the work inside; it is not ended, and no error is noted."""
    return use_span(opened, record_exception=False, set_status_on_exception=False)


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
    if (provider := _tracer_provider()) is None:
        return None
    shown = content_is_exported()
    return InstrumentationSettings(
        tracer_provider=provider,
        include_content=shown,
        # A picture is megabytes, and what collects spans takes a few kilobytes of each.
        include_binary_content=False,
        include_model_request_parameters=shown,
    )
