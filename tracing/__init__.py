"""OpenTelemetry spans of runs; none without a tracer provider.

`spans` makes them and finds where they go, `exporting` sends them.
"""

from .spans import Attributes, content_is_exported, fail, is_traced, request_tracing, span

__all__ = ["Attributes", "content_is_exported", "fail", "is_traced", "request_tracing", "span"]
