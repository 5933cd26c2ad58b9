"""Prefect's own spans of a run.

Prefect makes a span a flow run and a task run as soon as the process has a tracer provider. A flow
run's has the objective as its name, and both tell the messages of states and exceptions, which
quote what models wrote.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from prefect.settings import PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY, temporary_settings

from .provider import content_is_exported, is_traced

__all__ = ["awaited_without_prefect_spans", "without_prefect_spans"]

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
