"""Calls of tools are told as events of the attempt that makes them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...events.kinds import Tell, ToolEvent
from ...result import ToolCall
from ...tasks.subagent.request import SubagentRequest
from ...toolsets.calling.hearing import hear_calls

__all__ = ["told_calls"]


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
