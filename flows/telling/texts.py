"""What a model writes is told as events of the attempt that it writes for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...blocks.hearing import hear_text
from ...events.joining import TextJoiner
from ...events.kinds import Tell, TextEvent

__all__ = ["told_text"]


@contextmanager
def told_text(tell: Tell, event: TextEvent, *, of_providers: bool) -> Generator[None]:
    """Tell what models write inside; `event` is what all events of it have in common.

    `of_providers` says whether providers are asked to stream.
    """
    joiner = TextJoiner(tell, event)
    with hear_text(joiner, of_providers=of_providers):
        try:
            yield
        finally:
            joiner.close()
