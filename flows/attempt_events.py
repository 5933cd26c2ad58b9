"""Texts of models and calls of tools as events of the attempt that they belong to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..blocks.hearing import hear_text
from ..events.buffer import TextJoiner
from ..events.kinds import Tell, TextEvent, ToolEvent
from ..result import ToolCall
from ..tasks.subagent.request import SubagentRequest
from ..toolsets.calling.hearing import hear_calls

__all__ = ["told_calls", "told_text"]


@contextmanager
def told_calls(tell: Tell, request: SubagentRequest) -> Generator[None]:
    """Tell of the calls of tools that are made inside, for a request."""
    about_run = request.looks_around

    def tell_of(call: ToolCall) -> None:
        tell(
            ToolEvent(
                step="" if about_run else request.step,
                attempt=0 if about_run else request.attempt,
                sample=request.sample,
                **call.model_dump(),
            )
        )

    with hear_calls(tell_of):
        yield


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
