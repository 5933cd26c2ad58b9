"""A run from Python as an async iterator of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import replace
from typing import Any

from ..blocks.given import GivenModel
from ..events.buffer import EventBuffer
from ..events.kinds import RunEvent
from ..inputs.reading import Inputs
from ..result import SwarmResult
from ..task_ir import TaskIR
from .control import RunControl, controlled, current_control
from .options import SwarmOptions
from .python import swarm

__all__ = ["stream"]


async def stream(
    objective: str,
    *,
    plan: TaskIR | None = None,
    inputs: Inputs | None = None,
    options: SwarmOptions | None = None,
    model: GivenModel | str | None = None,
    worker: GivenModel | str | None = None,
    coder: GivenModel | str | None = None,
    architect: GivenModel | str | None = None,
    orchestrator: GivenModel | str | None = None,
) -> AsyncGenerator[RunEvent]:
    """Run a swarm and yield its events as they happen; the last one is a `FinishedEvent`.

    The run doesn't wait for who reads. What falls far behind loses texts first, and a `CutEvent`
    says so. Closing the iterator before its end cancels the run.

    Args:
        objective: What is wanted, in plain words; with a plan, the plan's own.
        plan: A plan of your own; left out, the orchestrator writes one.
        inputs: What to work on, as in `swarm`.
        options: Models and budgets. With `stream_text` providers are asked to stream too.
        model: The model of every tier, as in `swarm`.
        worker: The cheapest tier's, instead.
        coder: The middle tier's.
        architect: The most expensive tier's.
        orchestrator: The one that plans and writes the answer.

    Raises:
        SwarmError: What `swarm` raises, after the last event.

    Example:
        ```python
        async for event in stream("Compare tea and coffee", model="demo"):
            if isinstance(event, TextEvent):
                print(event.step, event.text)
        ```
    """
    run = swarm(
        objective,
        plan=plan,
        inputs=inputs,
        options=options,
        model=model,
        worker=worker,
        coder=coder,
        architect=architect,
        orchestrator=orchestrator,
    )
    async for event in _events_of(run):
        yield event


async def _events_of(run: Coroutine[Any, Any, SwarmResult]) -> AsyncGenerator[RunEvent]:
    ready, outer = asyncio.Event(), current_control()
    buffer = EventBuffer(wake=ready.set)

    def hear(event: RunEvent) -> None:
        buffer.put(event)
        outer.listener(event)

    control = replace(outer, listener=hear, cancel=asyncio.Event())
    with controlled(control):
        task = asyncio.create_task(run)
    task.add_done_callback(lambda _: buffer.close())
    passing = asyncio.create_task(_pass_on(outer, control))
    try:
        while True:
            await ready.wait()
            ready.clear()
            for event in buffer.take():
                yield event
            if task.done() and buffer.is_empty:
                break
        await task
    finally:
        control.cancel.set()
        passing.cancel()
        await asyncio.gather(task, passing, return_exceptions=True)


async def _pass_on(outer: RunControl, own: RunControl) -> None:
    await outer.cancel.wait()
    own.cancel.set()
