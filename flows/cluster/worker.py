"""What works on attempts on a Dask worker, in an event loop of its own.

Models' clients belong to one loop, and what blocks one, such as a store that is away, must not keep
the worker from its scheduler.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from ...errors import (
    ApprovalNeededError,
    RunNotFoundError,
    StorageError,
    SwarmError,
)
from ...gates import GateCache, GateResult, find_gate, gate_name, is_required
from ...models.limited_model import open_limiters
from ...models.remote import open_models
from ...models.request_context import SharedLimit, Waiting, request_context, waits_to
from ...models.resolve import resolve_model
from ...models.shared_limit import find_limits
from ...models.streaming import streaming_to
from ...settings import home
from ...store.attempt import ToolCall
from ...store.protocol import RunStore
from ...store.runs import open_run, place_of_runs
from ...tasks.context import AttemptBudget, task_context
from ...tasks.gates import inspect
from ...tasks.inspection import Inspection
from ...tasks.subagent.request import SubagentRequest
from ...tasks.subagent.stored_answer import StoredAnswer, store_answer, stored_answer
from ...tasks.subagent.task import answer
from ...toolsets.catalogue import Catalogue, ToolsetUse, listed_tools
from ..options import SwarmOptions, stored_options
from ..preflight import LISTING_S, most_at_once, toolsets_of_run
from .outbox import Outbox
from .payload import (
    MOST_STARTS,
    Answered,
    Began,
    Called,
    Failed,
    Found,
    Inspected,
    Lacks,
    Lost,
    Outcome,
    RunSetup,
    Said,
    Waits,
    WaitsForPerson,
    Work,
)

__all__ = ["Host", "host"]

_LINGER_S = 60.0
"""How long a run's toolsets and models stay open here after its last attempt."""


class _LacksError(Exception):
    """What the worker lacks."""


@dataclass(slots=True)
class _OpenRun:
    """A run as this worker has it: its toolsets and models are open.

    Attributes:
        users: How many attempts need it.
        refused: What refused for good in this run.
        limits: Limits of providers that other processes share.
        checked: The models and toolsets that were found to be there, or what was wrong with them.
    """

    topic: str
    options: SwarmOptions
    outbox: Outbox
    catalogue: Catalogue = field(default_factory=Catalogue)
    users: int = 0
    refused: dict[Any, Any] = field(default_factory=dict[Any, Any])
    limits: dict[str, SharedLimit] = field(default_factory=dict[str, SharedLimit])
    checked: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    over: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    keeper: asyncio.Task[None] | None = None
    closing: asyncio.TimerHandle | None = None

    async def keep(self) -> None:
        """Open it, and close it once it is over."""
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(open_models())
                self.catalogue = await stack.enter_async_context(toolsets_of_run(self.options))
                self.limits = await find_limits(self.options.provider_limits)
                self.opened.set_result(None)
                await self.over.wait()
        except Exception as error:  # noqa: BLE001 - whoever waits for it raises it
            if not self.opened.done():
                self.opened.set_exception(error)

    async def check(self, name: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Check once in a run that something is there.

        Raises:
            _LacksError: It isn't.
        """
        if name not in self.checked:
            self.checked[name] = asyncio.create_task(_checked(work()))
        await asyncio.shield(self.checked[name])


async def _checked(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except SwarmError as error:
        raise _LacksError(str(error)) from None


class Host:
    """Works on attempts of any runs, as many at once as Dask gives to this worker."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._runs: dict[tuple[str, str], _OpenRun] = {}
        thread = threading.Thread(target=self._loop.run_forever, name="attempts", daemon=True)
        thread.start()

    def begin(self, work: str, worker: Any) -> Future[str]:
        """Begin to work on an attempt; cancelling what it comes to stops it.

        Args:
            work: A `Work`, as JSON.
            worker: Dask's.
        """
        return asyncio.run_coroutine_threadsafe(self._done(work, worker), self._loop)

    def problem_of(self, setup: str) -> str:
        """Return why a run's attempts can't be worked on here; "" if they can, as far as it shows.

        Args:
            setup: A `RunSetup`, as JSON.
        """
        asked = RunSetup.model_validate_json(setup)
        try:
            run = open_run(asked.run)
            return "" if run.has_started() else _no_run(run.run_id)
        except SwarmError as error:
            return str(error)

    def reply(self, topic: str, key: str, number: int, problem: str, fix: str) -> None:
        """Answer what an attempt asked the process that executes its run."""
        self._call(topic, lambda outbox: outbox.reply(key, number, problem, fix))

    def free(self, topic: str, characters: int) -> None:
        """Note that so many characters were read there."""
        self._call(topic, lambda outbox: outbox.free(characters))

    def _call(self, topic: str, work: Callable[[Outbox], None]) -> None:
        def call() -> None:
            for run in self._runs.values():
                if run.topic == topic:
                    work(run.outbox)

        self._loop.call_soon_threadsafe(call)

    async def _done(self, text: str, worker: Any) -> str:
        work = Work.model_validate_json(text)
        return (await self._outcome(work, worker, str(worker.name))).model_dump_json()

    async def _outcome(self, work: Work, worker: Any, name: str) -> Outcome:
        try:
            async with self._opened(work.setup, worker) as run:
                return await _worked_on(work, run, name)
        except _LacksError as error:
            return Lacks(worker=name, address=str(worker.address), what=str(error))
        except Exception as error:  # noqa: BLE001 - Dask would log the whole work with it
            problem = str(error) if isinstance(error, SwarmError) else repr(error)
            return Failed(worker=name, problem=problem)

    @asynccontextmanager
    async def _opened(self, setup: RunSetup, worker: Any) -> AsyncGenerator[_OpenRun]:
        key = (setup.topic, str(worker.address))
        run = self._runs.get(key)
        if run is None:
            send = partial(worker.log_event, setup.topic)
            outbox = Outbox(str(worker.address), send)
            run = _OpenRun(setup.topic, stored_options(dict(setup.options)), outbox)
            self._runs[key] = run
            run.keeper = asyncio.create_task(run.keep())
        run.users += 1
        if run.closing is not None:
            run.closing.cancel()
            run.closing = None
        try:
            try:
                await asyncio.shield(run.opened)
            except SwarmError as error:
                raise _LacksError(str(error)) from None
            yield run
        finally:
            run.users -= 1
            if not run.users:
                wait = 0.0 if run.opened.done() and run.opened.exception() else _LINGER_S
                run.closing = self._loop.call_later(wait, self._close, key)

    def _close(self, key: tuple[str, str]) -> None:
        run = self._runs.pop(key)
        run.over.set()


@cache
def host() -> Host:
    """Return the host of this process."""
    return Host()


async def _worked_on(work: Work, run: _OpenRun, worker: str) -> Outcome:
    """Work on an attempt within its run."""
    outbox, store = run.outbox, open_run(work.setup.run)
    outbox.put(Began(key=work.key))
    outbox.flush()
    try:
        await _check(work, run, store)
        with store.take_part(work.setup.token, work.name, worker, work.sent) as number:
            if number > MOST_STARTS:
                return Lost(worker=worker)
            if work.inspection is not None:
                return await _inspected(work, work.inspection, run)
            assert work.request is not None  # noqa: S101 - one of the two is there
            return await _answered(work, work.request, run, store)
    except RunNotFoundError:
        raise _LacksError(_no_run(store.run_id)) from None
    except StorageError as error:
        raise _LacksError(str(error)) from None
    finally:
        outbox.end(work.key)


def _no_run(run_id: str) -> str:
    return f"run {run_id}, which it looks for in {place_of_runs()}"


async def _check(work: Work, run: _OpenRun, store: RunStore) -> None:
    """Check that what the work needs is here.

    Raises:
        _LacksError: It isn't.
    """
    for name in filter(is_required, work.inspection.gates if work.inspection else ()):
        gate = gate_name(name)
        await run.check(f"gate {gate}", partial(_check_gate, gate))
    if (request := work.request) is None:
        return
    model = f"model {request.model} of {request.tier}"
    await run.check(model, partial(_check_model, request.model, request.tier, run.options))
    for name in request.tools:
        await run.check(f"toolset {name}", partial(_check_toolset, name, run.catalogue, store))


async def _inspected(work: Work, inspection: Inspection, run: _OpenRun) -> Outcome:
    def handle(result: GateResult) -> None:
        run.outbox.put(Found(key=work.key, result=result))

    with task_context(on_verdict=handle, gate_cache=GateCache(home() / "gates")):
        found = await inspect(inspection)
    # None is for races alone, and they are the other process's.
    assert found is not None  # noqa: S101
    return Inspected(result=found)


async def _check_gate(name: str) -> None:
    await asyncio.to_thread(find_gate(name).version)


async def _answered(
    work: Work, request: SubagentRequest, run: _OpenRun, store: RunStore
) -> Outcome:
    if (stored := await asyncio.to_thread(stored_answer, store, work.name)) is not None:
        return Answered(result=stored.result, taken=stored.taken)
    key, outbox = work.key, run.outbox
    budget = AttemptBudget(partial(outbox.extend, key))
    outbox.budgets[key] = budget

    def handle_call(call: ToolCall) -> None:
        outbox.put(Called(key=key, call=call))

    def handle_wait(wait: Waiting | None) -> None:
        outbox.put(
            Waits(key=key)
            if wait is None
            else Waits(
                key=key,
                provider=wait.provider,
                why=wait.why,
                seconds=wait.seconds,
                words=wait.words,
            )
        )

    streaming = nullcontext()
    if work.streams is not None:
        of_providers, of_calls = work.streams
        sink = _TextSink(key, outbox)
        streaming = streaming_to(sink, of_providers=of_providers, of_calls=of_calls)
    try:
        with (
            request_context(refused=run.refused, limits=run.limits),
            waits_to(handle_wait),
            streaming,
            task_context(toolsets=run.catalogue, budget=budget, on_tool_call=handle_call),
        ):
            result = await answer(request)
    except ApprovalNeededError as error:
        return WaitsForPerson(
            problem=error.problem,
            fix=error.fix,
            questions=error.questions,
            taken=budget.taken,
        )
    answered = StoredAnswer(result=result, taken=budget.taken)
    await asyncio.to_thread(store_answer, store, work.name, answered)
    return Answered(result=result, taken=budget.taken)


async def _check_model(name: str, tier: str, options: SwarmOptions) -> None:
    open_limiters(await resolve_model(name, tier), most_at_once(options))


async def _check_toolset(name: str, catalogue: Catalogue, store: RunStore) -> None:
    await listed_tools(catalogue.source(name), ToolsetUse(store, "", "preflight"), LISTING_S)


@dataclass(frozen=True, slots=True)
class _TextSink:
    key: str
    outbox: Outbox

    def begin(self) -> None:
        self.outbox.put(Said(key=self.key, begins=True))

    def add(self, piece: str) -> None:
        self.outbox.put(Said(key=self.key, text=piece))
