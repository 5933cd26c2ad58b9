"""Spans as somebody gets them whose code has set a tracer provider."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@contextmanager
def recording() -> Generator[InMemorySpanExporter]:
    """Have this process's spans kept; OpenTelemetry lets nobody set a second provider."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", provider)
        yield exporter


def tree_of(spans: Sequence[ReadableSpan]) -> list[str]:
    """The spans' names, each below its parent's and indented, in the order they began."""
    by_parent: dict[int | None, list[ReadableSpan]] = {}
    for span in sorted(spans, key=lambda span: span.start_time or 0):
        by_parent.setdefault(span.parent.span_id if span.parent else None, []).append(span)

    def below(parent: int | None, depth: int) -> list[str]:
        lines: list[str] = []
        for span in by_parent.get(parent, []):
            lines.append("  " * depth + span.name)
            assert span.context
            lines += below(span.context.span_id, depth + 1)
        return lines

    return below(None, 0)


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    return next(span for span in spans if span.name == name)


def values(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def all_text(spans: Sequence[ReadableSpan]) -> str:
    """Everything that leaves the process with the spans."""
    return "\n".join(span.to_json() for span in spans)
