"""What a model writes is told as events of the attempt that it writes for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...blocks.hearing import hear_text
from ...events.joining import TextJoiner
from ...events.kinds import TextEvent
from ..context import RunContext

__all__ = ["told_text"]


@contextmanager
def told_text(context: RunContext, event: TextEvent) -> Generator[None]:
    """Tell what models write inside; `event` is what all events of it have in common."""
    joiner = TextJoiner(context.tell, event)
    with hear_text(joiner, of_providers=context.options.stream_text):
        try:
            yield
        finally:
            joiner.close()
