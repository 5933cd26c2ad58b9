"""Runs the lines of a batch, so many at a time, and lines that a busy server didn't take again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import httpx
from prefect import Task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import TagsContext
from prefect.exceptions import Abort, CancelledRun, PausedRun, PrefectHTTPStatusError
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ..errors import (
    BudgetExceededError,
    InputError,
    RunDamagedError,
    RunLostError,
    RunNotFoundError,
    ServerError,
    SwarmError,
)
from ..metrics.clock import run_time
from ..report.batch_board import BatchBoard, LineView
from ..store.attempt import excerpt
from ..store.protocol import RunStore, run_id_of
from ..store.result import RunFailedError, SwarmResult
from ..store.runs import find_run, open_run
from ..text import one_line
from ..tracing.spans import without_prefect_spans
from .approval import waiting_error
from .batch_files import BatchLine, PrintedOutput
from .batch_line import BatchJob, line_keys, read_line, urgency_of
from .control import current_control, not_waiting
from .options import CHANGEABLE, SwarmOptions, stored_options
from .prefect_io.child_run import page_of
from .prefect_io.flow_run import current_flow_run
from .prefect_io.schema_flow import ensure_server, refused_in_short
from .resume import resume
from .run_inputs import inputs_digest
from .shared_lines import LOOK_S, SharedLine, check_shareable, line_parameters
from .swarm import swarm

__all__ = [
    "PAUSES_S",
    "BatchListener",
    "in_time",
    "is_passing",
    "lines_by_key",
    "patiently",
    "run_batch",
    "run_job",
]


T = TypeVar("T")

PAUSES_S = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds before each repetition; Prefect's client has repeated each request for a minute then."""
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

_logger = logging.getLogger("prefect_swarm.runs")


def is_passing(error: BaseException) -> bool:
    """Say whether the server may take it later: it is away or busy, or its database is locked."""
    if isinstance(error, ServerError) and isinstance(error.__cause__, PrefectHTTPStatusError):
        # What it refuses for want of a login it refuses the next time, too.
        error = error.__cause__
    if isinstance(error, PrefectHTTPStatusError):
        return error.response.status_code in _BUSY
    # Prefect's client raises a RuntimeError when it can't connect at all.
    is_away = isinstance(error, RuntimeError) and "reach API" in str(error)
    return is_away or isinstance(error, httpx.TransportError | ServerError)


async def patiently(
    work: Callable[[], Awaitable[T]],
    may_repeat: Callable[[], bool] = lambda: True,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Do some work, once more after a pause where the server didn't take it.

    Args:
        work: What is to be done.
        may_repeat: Whether nothing of it has been done yet.
        pause: Passes some seconds.
    """
    for seconds in PAUSES_S:
        try:
            return await work()
        except Exception as error:
            if not is_passing(error) or not may_repeat():
                raise
            why = one_line(str(error) or repr(error), 200)
            _logger.warning("The Prefect server doesn't answer; again in %.0f s. %s", seconds, why)
        await pause(seconds)
    return await work()


async def run_job(job: BatchJob, before: str, begin: Callable[[str], None]) -> SwarmResult:
    """Run a line.

    Args:
        job: What it asks for.
        before: The run that it began at an earlier start; "" if it began none.
        begin: Notes the run that it begins, before anything is paid for.
    """
    if (run := _started_run(before)) is not None:
        changes = _changes(run, job.options)
        go_on = partial(resume, run.run_id, retry_failed=True, changes=changes)
        try:
            return await patiently(go_on)
        except (RunDamagedError, RunLostError, RunNotFoundError) as error:
            _logger.warning("The line is run anew: %s", error)
    flow_run = await patiently(partial(_created, line_parameters(job)))
    begin(str(flow_run.id))
    return await begin_job(job, flow_run)


async def begin_job(job: BatchJob, flow_run: FlowRun) -> SwarmResult:
    """Run a line as a flow run that was created for it."""
    own = open_run(str(flow_run.id))
    run_it = partial(_run, flow_run, line_parameters(job))
    return await patiently(run_it, lambda: not own.has_started())


def _started_run(name: str) -> RunStore | None:
    """Return the folder of a run that has anything to go on with."""
    with suppress(RunDamagedError, RunNotFoundError):
        if name and (run := find_run(name)).about():
            return run
    return None


def _changes(run: RunStore, options: SwarmOptions) -> dict[str, Any]:
    """Return the bounds and models that a line has now, and that its run began without."""
    with suppress(RunDamagedError, ValueError):
        if (known := run.about().options) is None:
            return {}
        before = stored_options(known)
        asked = options.model_dump(mode="json")
        had = before.model_dump(mode="json")
        return {name: asked[name] for name in CHANGEABLE if asked[name] != had[name]}
    return {}


async def _created(parameters: dict[str, Any]) -> FlowRun:
    """Create a line's flow run; in a batch's flow run it is one of that.

    Prefect would count the lines, and take the run of another line for this one's when the batch
    is run again.
    """
    ensure_server()
    batch = current_flow_run()
    async with get_client() as client:
        parent = None
        if batch is not None:
            task: Task[Any, Any] = Task(fn=swarm.fn, name=swarm.name)
            key = uuid4().hex
            parent = await client.create_task_run(
                task, batch.id, key, name=f"{swarm.name}-{key[:8]}", state=Pending()
            )
        create = client.create_flow_run(
            swarm,
            parameters=swarm.serialize_parameters(parameters),
            parent_task_run_id=parent.id if parent else None,
            state=Pending(),
            tags=TagsContext.get().current_tags,
        )
        return await refused_in_short(create)


async def _run(flow_run: FlowRun, parameters: dict[str, Any]) -> SwarmResult:
    with without_prefect_spans():
        going = run_flow_async(swarm, flow_run=flow_run, parameters=parameters)
        result = await refused_in_short(going)
    return SwarmResult.model_validate(result)


_ERROR_CHARS = 4000
"""What is kept of an error's words: a server may repeat all that it was sent."""


BatchListener = Callable[[BatchBoard, BatchLine | None], None]
"""What is told how far a batch is, and how a line ended."""


def _ignore(board: BatchBoard, ended: BatchLine | None) -> None:
    """Be told for nobody."""


def lines_by_key(lines: Iterable[str], options: SwarmOptions) -> dict[str, int]:
    """Return the numbers of the lines that hold anything, by their keys, in order."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    keys = line_keys((line for _, line in numbered), options, inputs_digest())
    return dict(zip(keys, (number for number, _ in numbered), strict=True))


async def run_batch(
    lines: Iterable[str],
    options: SwarmOptions,
    concurrency: int = 1,
    output: PrintedOutput = PrintedOutput(),  # noqa: B008 - it holds nothing
    shared: str = "",
    listener: BatchListener = _ignore,
) -> AsyncGenerator[BatchLine]:
    """Run each line as a swarm of its own and yield how it ended, in the lines' order.

    Blank lines are left out. Lines begin in the order of their priority, of their deadlines and of
    the file. A line that can't be understood, or whose run fails, yields its error, and the others
    go on. A line that the output has as completed is yielded as it is there.

    Args:
        lines: JSON, as `read_line` has it.
        options: For every line that does not say otherwise.
        concurrency: Lines to run in parallel; each has its own `max_concurrency`.
        output: What earlier starts left.
        shared: A name under which several machines do the lines together, each line once.
        listener: Is called with how far the batch is, each time that a line begins or ends, and
            with how that line ended.

    Raises:
        InputError: The options can't be those of many lines.
    """
    lines = [*lines]
    if concurrency < 1:
        raise InputError(f"A concurrency of {concurrency} runs nothing.", "Give 1 or more.")
    if options.output_to is not None and "{run}" not in options.output_to:
        raise InputError(
            f"Every line would write its output into {one_line(options.output_to, 200)}.",
            "Write {run} in it, which is each line's own.",
        )
    if shared:
        check_shareable()
    numbers = lines_by_key(lines, options)
    urgencies = {key: urgency_of(lines[number - 1]) for key, number in numbers.items()}
    batch = _Batch(options, asyncio.Semaphore(concurrency), output, shared, listener, len(numbers))
    tasks = {
        key: asyncio.create_task(
            batch.ended(numbers[key], key, lines[numbers[key] - 1], urgencies[key].deadline)
        )
        for key in sorted(numbers, key=lambda key: urgencies[key].rank)
    }
    try:
        for key in numbers:
            yield await tasks[key]
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


_Run = Callable[[BatchJob], Awaitable[SwarmResult | None]]


class _Batch:
    """Runs lines, so many at a time."""

    def __init__(
        self,
        options: SwarmOptions,
        slots: asyncio.Semaphore,
        output: PrintedOutput,
        shared: str,
        listener: BatchListener,
        total: int,
    ) -> None:
        self._options, self._slots, self._output = options, slots, output
        self._shared, self._listener = shared, listener
        self._board = BatchBoard(total)

    async def ended(self, number: int, key: str, text: str, deadline: datetime | None) -> BatchLine:
        """Run a line in its turn, and return how it ended."""
        if (completed := self._output.completed(key)) is not None:
            self._show(number, LineView(number, "passed over"), completed)
            return completed
        begin, before = partial(self._begin, number, key), self._output.run_of(key)
        run: _Run = partial(run_job, before=before, begin=begin)
        if self._shared:
            run = partial(SharedLine(f"{self._shared}/{key}", begin_job, resume).run, begin=begin)
        while True:
            async with self._slots:
                self._show(number, LineView(number, "running", run_time()))
                read = partial(_read_in_time, text, self._options, deadline, before)
                ended = await _run_line(number, read, run)
                if ended is not None:
                    error = excerpt(ended.error, _ERROR_CHARS)
                    ended = ended.model_copy(update={"key": key, "error": error})
                    self._show(number, self._view_of(ended), ended)
                    return ended
                # Another machine does it; what it holds up here is this line alone.
                del self._board.lines[number]
            await asyncio.sleep(LOOK_S)

    def _begin(self, number: int, key: str, flow_run_id: str) -> None:
        self._output.begin(key, flow_run_id)
        place = {"run": run_id_of(flow_run_id), "url": page_of(UUID(flow_run_id))}
        self._show(number, replace(self._board.lines[number], **place))

    def _view_of(self, ended: BatchLine) -> LineView:
        view, result = self._board.lines[ended.number], ended.result
        if result is None:
            return replace(view, status="failed", why=ended.error)
        status = "failed" if ended.error else result.status
        return replace(
            view,
            status=status,
            run=result.run_id,
            url=view.url or page_of(UUID(result.flow_run_id)),
            why=ended.error or result.problem,
            tokens=result.cost.input_tokens + result.cost.output_tokens,
            usd=result.cost.money_usd,
        )

    def _show(self, number: int, view: LineView, ended: BatchLine | None = None) -> None:
        self._board.lines[number] = view
        self._listener(self._board, ended)


async def _run_line(number: int, read: Callable[[], BatchJob], run: _Run) -> BatchLine | None:
    """Run a line; return how it ended, or None while another machine does it."""
    if current_control().cancel.is_set():
        return BatchLine(number=number, error="The batch was cancelled before this line.")
    try:
        job = read()
        with not_waiting():
            result = await run(job)
    except RunFailedError as error:
        return BatchLine(number=number, result=error.result, error=str(error))
    except SwarmError as error:
        return BatchLine(number=number, error=str(error))
    except PausedRun as error:
        return BatchLine(number=number, error=str(waiting_error(error)))
    except CancelledRun as error:
        return BatchLine(number=number, error=f"The run was cancelled. {error}")
    except Abort as error:
        # Another process executes the run.
        return BatchLine(number=number, error=str(error))
    except Exception as error:  # noqa: BLE001 - one line's trouble is not the others'
        return BatchLine(number=number, error=repr(error))
    return None if result is None else BatchLine(number=number, result=result)


def _read_in_time(
    text: str, options: SwarmOptions, deadline: datetime | None, before: str
) -> BatchJob:
    job = read_line(text, options)
    if deadline is None:
        return job
    run = _started_run(before)
    taken_s = 0.0 if run is None else run.accounts().elapsed_s
    return job.model_copy(update={"options": in_time(job.options, deadline, run_time(), taken_s)})


def in_time(
    options: SwarmOptions, deadline: datetime, now: float, taken_s: float = 0.0
) -> SwarmOptions:
    """Return options with no more seconds than there are until a deadline. Pure.

    Args:
        options: A line's.
        deadline: When the line has to have ended.
        now: The time, in seconds of the epoch.
        taken_s: Seconds that its run took at an earlier start, which count.

    Raises:
        BudgetExceededError: It is over.
    """
    seconds = deadline.timestamp() - now
    if seconds <= 0:
        raise BudgetExceededError(
            f"The line's deadline, {deadline.isoformat()}, was over before it began.",
            "Give a later one, a higher priority, or the batch more concurrency.",
        )
    bounds = [taken_s + seconds, *([] if options.timeout_s is None else [options.timeout_s])]
    return options.model_copy(update={"timeout_s": min(bounds)})
