"""OpenTelemetry spans of runs; none without a tracer provider.

`spans` makes them, `provider` says where they go, `exporting` sends them.
"""

from .provider import content_is_exported, is_traced
from .spans import Attributes, fail, request_tracing, span

__all__ = ["Attributes", "content_is_exported", "fail", "is_traced", "request_tracing", "span"]
