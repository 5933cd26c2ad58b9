"""Calls of tools are told as events of the attempt that makes them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...events.kinds import ToolEvent
from ...result import ToolCall
from ...tasks.subagent.request import SubagentRequest
from ...toolsets.calling.hearing import hear_calls
from ..context import RunContext

__all__ = ["told_calls"]


@contextmanager
def told_calls(context: RunContext, request: SubagentRequest) -> Generator[None]:
    """Tell of the calls of tools that are made inside, for a request."""

    def tell(call: ToolCall) -> None:
        context.tell(
            ToolEvent(
                step=request.step,
                attempt=request.attempt,
                sample=request.sample,
                **call.model_dump(),
            )
        )

    with hear_calls(tell):
        yield
