"""The tracer provider of runs, and whether prompts and answers are exported."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opentelemetry.trace import (
    NoOpTracerProvider,
    ProxyTracerProvider,
    Tracer,
    TracerProvider,
    get_tracer_provider,
)

from ..settings import SwarmSettings

if TYPE_CHECKING:
    from .exporting import Exporting

__all__ = [
    "content_is_exported",
    "content_setting_read",
    "environment_provider",
    "flush",
    "is_traced",
    "tracer",
    "tracer_provider",
    "wanted_exporter",
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


def environment_provider() -> TracerProvider | None:
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
    given = (os.environ.get(name, "").strip() for name in _ENDPOINTS)
    return next(filter(None, given), "")


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


def tracer_provider() -> TracerProvider | None:
    """Return who takes spans; None if nobody does."""
    given = get_tracer_provider()
    # Either of these is what OpenTelemetry has where nobody set a provider.
    if isinstance(given, ProxyTracerProvider | NoOpTracerProvider):
        return environment_provider()
    return given


def is_traced() -> bool:
    """Return whether anybody takes spans."""
    return tracer_provider() is not None


def tracer() -> Tracer | None:
    """Return what makes this package's spans; None if nobody takes them."""
    provider = tracer_provider()
    return None if provider is None else provider.get_tracer(_SCOPE)
