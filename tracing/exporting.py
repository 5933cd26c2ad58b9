"""Export of spans in a thread of its own; nothing waits for it, and no failure matters.

It needs the packages of the extra `traces`.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
    SpanExportResult,
)

__all__ = ["FLUSH_S", "Exporting", "ReportingExporter", "exporter_of"]

FLUSH_S = 2.0
"""Seconds that the end of a run, or of the process, waits for spans to leave, at most."""
_OTLP = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_DEFAULT_ENDPOINT = "http://localhost:4318"
_logger = logging.getLogger("prefect_swarm.tracing")


def exporter_of(name: str, endpoint: str) -> ReportingExporter | str:
    """Return the exporter of a name, or why it is not available.

    Args:
        name: `otlp`, `console` or another.
        endpoint: The collector's URL for `otlp`; "" for OpenTelemetry's own choice.
    """
    if name == "console":
        # Standard output is for what was asked for.
        return ReportingExporter(ConsoleSpanExporter(out=sys.stderr), "standard error")
    protocol = next(filter(None, map(os.environ.get, _OTLP)), "http/protobuf")
    if name != "otlp" or protocol != "http/protobuf":
        what = f"OTEL_TRACES_EXPORTER={name}" if name != "otlp" else f"{_OTLP[1]}={protocol}"
        return (
            f"{what} is not known here. Use otlp by http/protobuf or console, or set a tracer "
            "provider in Python."
        )
    try:
        return ReportingExporter(OTLPSpanExporter(), _collector(endpoint))
    except ValueError as error:
        return f"the exporter's settings can't be used: {error}"


class ReportingExporter(SpanExporter):
    """Exports, and says once in the log that it can't."""

    def __init__(self, exporter: SpanExporter, collector: str) -> None:
        """Take what exports, and what its receiver is called."""
        self._exporter = exporter
        self._collector = collector
        self.is_failing = False
        self._is_reported = False
        # It would say the same for each batch, with all of the client's errors.
        logging.getLogger("opentelemetry.exporter.otlp").setLevel(logging.CRITICAL)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; a failure costs them alone."""
        result = self._exporter.export(spans)
        self.is_failing = result is not SpanExportResult.SUCCESS
        if self.is_failing:
            self._report()
        return result

    def note_delay(self) -> None:
        """Note that an export takes longer than anybody waits; the next success ends that."""
        self.is_failing = True
        self._report()

    def _report(self) -> None:
        if not self._is_reported:
            self._is_reported = True
            _logger.warning(
                "Traces can't be delivered to %s; the run goes on without them.", self._collector
            )

    def shutdown(self) -> None:
        """Give up what is still under way."""
        self._exporter.shutdown()


class Exporting:
    """A provider, and the threads that its spans leave by; they end with the process."""

    def __init__(self, exporter: ReportingExporter) -> None:
        """Take what exports."""
        self._exporter = exporter
        self._processor = BatchSpanProcessor(exporter)
        # The provider's own shutdown would wait for the exporter for half a minute.
        self.provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self.provider.add_span_processor(self._processor)
        self._asked, self._sent = threading.Event(), threading.Event()
        # A process that ends can't start a thread, so this one is there before.
        threading.Thread(target=self._send_when_asked, daemon=True).start()
        atexit.register(self.flush)

    def flush(self, seconds: float = FLUSH_S) -> None:
        """Send what waits, for so many seconds at most; not where sending fails anyway."""
        if self._exporter.is_failing:
            return
        self._sent.clear()
        self._asked.set()
        if not self._sent.wait(seconds):
            self._exporter.note_delay()

    def _send_when_asked(self) -> None:
        while self._asked.wait():
            self._asked.clear()
            # What the processor has no bound for, this thread waits for alone.
            self._processor.force_flush()
            self._sent.set()


def _resource() -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return Resource.create({} if named else {"service.name": "prefect-swarm"})


def _collector(endpoint: str) -> str:
    """Return the collector's address without what else its URL may hold, such as a password."""
    parts = urlsplit(endpoint or _DEFAULT_ENDPOINT)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}"
