"""Running a swarm from Python: to its result, or as an async iterator of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from inspect import isroutine
from typing import Any, cast

from prefect.exceptions import PausedRun
from pydantic import TypeAdapter

from ..data_types import specified
from ..errors import InputError
from ..inputs.reading import Inputs, read_inputs, split_inputs
from ..models.names import RegisteredModel
from ..plan.task_ir import TaskIR
from ..store.event_buffer import EventBuffer
from ..store.events import RunEvent
from ..store.result import SwarmResult
from ..text import whole_characters
from .answer_type import answer_check, answer_problem
from .approval import waiting_error
from .control import RunControl, called_with, controlled, current_control, not_waiting
from .notebook import shown_in_notebook
from .options import SwarmOptions
from .swarm import swarm as swarm_flow

__all__ = ["stream", "swarm", "swarm_sync"]


async def swarm(
    objective: str,
    *,
    plan: TaskIR | None = None,
    inputs: Inputs | None = None,
    options: SwarmOptions | None = None,
    model: RegisteredModel | str | None = None,
    worker: RegisteredModel | str | None = None,
    coder: RegisteredModel | str | None = None,
    architect: RegisteredModel | str | None = None,
    orchestrator: RegisteredModel | str | None = None,
    output_type: Any = None,
) -> SwarmResult:
    """Run a swarm: the flow `swarm`, with models and types as Python has them.

    Args:
        objective: What is wanted, in plain words; with a plan, the plan's own.
        plan: A plan of your own; left out, the orchestrator writes one.
        inputs: What to work on: texts and paths by name; or paths of files and folders, and
            patterns such as `src/**/*.py`, of which those that begin with `!` exclude. A path may
            be one in a storage block: `s3-bucket/reports:tonight/`.
        options: Models and budgets.
        model: The model of every tier: a name, a pydantic-ai model, or an agent, whose tools and
            settings are used.
        worker: The cheapest tier's, instead.
        coder: The middle tier's.
        architect: The most expensive tier's.
        orchestrator: The one that plans and writes the answer.
        output_type: A pydantic model or any type pydantic knows. The answer is then JSON of its
            schema, checked and repaired, and the result's `output` is one.

    Returns:
        The result; a run that ends `partial` may have no `output`.

    Raises:
        GateError: A gate that a step has to pass can't run here.
        InputError: The objective is empty or not the plan's, the plan breaks a rule, or an input
            can't be read.
        ModelError: A tier's model is not available.
        NoPlanError: The orchestrator wrote no plan that can be read.
        RunFailedError: No step succeeded; its `result` tells it all.
        RunWaitingError: It was left until a person answers; its `questions` tell what is asked.

    Example:
        ```python
        result = asyncio.run(swarm("Compare tea and coffee", model="openai:gpt-5"))
        print(result.answer)
        ```
    """
    changes: dict[str, Any] = specified(
        model=model, worker=worker, coder=coder, architect=architect, orchestrator=orchestrator
    )
    asked = None if output_type is None else _asked(output_type)
    if asked is not None:
        changes["answer_schema"] = asked.schema
    given = options or SwarmOptions()
    # Validated anew, so that models become the names that stand for them. What isn't given stays
    # so: a block may have it.
    own = {name: getattr(given, name) for name in given.model_fields_set}
    chosen = SwarmOptions.model_validate({**own, **changes})
    run = cast("Callable[..., Awaitable[SwarmResult]]", swarm_flow)
    local, files = split_inputs(inputs)
    texts = {} if local is None else await asyncio.to_thread(read_inputs, local)
    with called_with(inputs=texts, answer_type=asked and asked.adapter), not_waiting():
        try:
            async with shown_in_notebook(objective):
                result = await run(
                    whole_characters(objective), plan=plan, files=files or None, options=chosen
                )
        except PausedRun as error:
            raise waiting_error(error) from None
        if asked is None or await asyncio.to_thread(
            answer_problem, result.answer, asked.schema, answer_check()
        ):
            return result
    return result.model_copy(update={"output": asked.adapter.validate_json(result.answer)})


def swarm_sync(
    objective: str,
    *,
    plan: TaskIR | None = None,
    inputs: Inputs | None = None,
    options: SwarmOptions | None = None,
    model: RegisteredModel | str | None = None,
    worker: RegisteredModel | str | None = None,
    coder: RegisteredModel | str | None = None,
    architect: RegisteredModel | str | None = None,
    orchestrator: RegisteredModel | str | None = None,
    output_type: Any = None,
) -> SwarmResult:
    """Run a swarm from code that isn't async, and wait for its end: `swarm`, in a loop of its own.

    Args:
        objective: What is wanted, in plain words; with a plan, the plan's own.
        plan: A plan of your own, as in `swarm`.
        inputs: What to work on, as in `swarm`.
        options: Models and budgets.
        model: The model of every tier, as in `swarm`.
        worker: The cheapest tier's, instead.
        coder: The middle tier's.
        architect: The most expensive tier's.
        orchestrator: The one that plans and writes the answer.
        output_type: The type of the answer, as in `swarm`.

    Raises:
        InputError: An event loop runs in this thread, as in a notebook: there, await `swarm`.
        SwarmError: What `swarm` raises.

    Example:
        ```python
        print(swarm_sync("Compare tea and coffee", model="openai:gpt-5"))
        ```
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InputError(
            "swarm_sync was called where an event loop runs (a notebook, or an async function), "
            "and would stop it.",
            "Write `await swarm(…)` there.",
        )
    return asyncio.run(
        swarm(
            objective,
            plan=plan,
            inputs=inputs,
            options=options,
            model=model,
            worker=worker,
            coder=coder,
            architect=architect,
            orchestrator=orchestrator,
            output_type=output_type,
        )
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The type that an answer is to have, and the JSON Schema of it."""

    adapter: TypeAdapter[Any]
    schema: dict[str, Any]


def _asked(output_type: Any) -> _Asked:
    fix = "Give a pydantic model, or a type of plain fields."
    if isroutine(output_type):
        # pydantic would take it for the type of its arguments, and call it.
        raise InputError(f"The output_type {output_type.__name__} is a function, no type.", fix)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        return _Asked(adapter, adapter.json_schema())
    except Exception as error:  # noqa: BLE001 - pydantic has several errors for it
        why = str(error).splitlines()[0].rstrip(".")
        problem = f"The output_type can't be written as a JSON Schema: {why}."
        raise InputError(problem, fix) from None


async def stream(
    objective: str,
    *,
    plan: TaskIR | None = None,
    inputs: Inputs | None = None,
    options: SwarmOptions | None = None,
    model: RegisteredModel | str | None = None,
    worker: RegisteredModel | str | None = None,
    coder: RegisteredModel | str | None = None,
    architect: RegisteredModel | str | None = None,
    orchestrator: RegisteredModel | str | None = None,
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

    def handle(event: RunEvent) -> None:
        buffer.put(event)
        outer.listener(event)

    control = replace(outer, listener=handle, cancel=asyncio.Event())
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
