"""Spans of OpenTelemetry about runs; none where nobody takes them.

`spans` and `requests` make them, `environment` and `provider` say where they go.
"""

from .provider import content_is_exported, is_traced
from .spans import Attributes, fail, request_tracing, span

__all__ = ["Attributes", "content_is_exported", "fail", "is_traced", "request_tracing", "span"]
