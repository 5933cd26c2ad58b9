"""The provider that the environment asks for, by OpenTelemetry's own variables.

It is this package's alone: as the provider of the whole process it would also export Prefect's own
spans, which have objectives as their names.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opentelemetry.trace import TracerProvider

if TYPE_CHECKING:
    from .exporting import Exporting

__all__ = ["environment_provider", "flush", "wanted_exporter"]

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

    What can't be had is said once, in the log, and there is no provider then.
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
