"""Many objectives from one file: a stream of results, and the flow that a schedule runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import uuid4

import httpx
from prefect import Task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import TagsContext
from prefect.exceptions import Abort, CancelledRun, PausedRun, PrefectHTTPStatusError
from prefect.flow_engine import run_flow_async
from prefect.states import Completed, Pending
from pydantic import Field

from ..data_types import Frozen
from ..errors import (
    InputError,
    RunDamagedError,
    RunLostError,
    RunNotFoundError,
    ServerError,
    SwarmError,
)
from ..files import read_text
from ..store.attempt import excerpt
from ..store.protocol import RunStore
from ..store.result import RunFailedError, SwarmResult
from ..store.runs import find_run, open_run
from ..text import one_line
from ..tracing.spans import without_prefect_spans
from .approval import waiting_error
from .batch_files import (
    BatchJob,
    BatchLine,
    PrintedOutput,
    batch_output,
    has_started,
    line_keys,
    read_line,
)
from .control import controlled, current_control, not_waiting
from .options import CHANGEABLE, SwarmOptions, stored_options
from .prefect_io.deployment import settle_options
from .prefect_io.flow_run import (
    beating,
    cancelled_on_server,
    current_flow_run,
    end_cancelling,
    this_flow_run,
)
from .prefect_io.lost import RunPlace, check_batch_not_lost, hand_back, note_place, place_at
from .prefect_io.schema_flow import OptionsParameter, ensure_server, refused_in_short, schema_flow
from .prefect_io.task_runs import look_up_result_folder
from .resume import resume
from .run_inputs import inputs_digest
from .shared_lines import LOOK_S, SharedLine, check_shareable, line_parameters
from .swarm import swarm

__all__ = [
    "PAUSES_S",
    "BatchLine",
    "BatchSummary",
    "is_passing",
    "lines_by_key",
    "patiently",
    "run_batch",
    "run_job",
    "swarm_batch",
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


class BatchSummary(Frozen):
    """How a batch went: how many lines there were and how they ended."""

    lines: int = 0
    completed: int = 0
    partial: int = 0
    failed: int = Field(default=0, description="Lines without a usable answer.")
    passed_over: int = Field(
        default=0, description="Completed lines that an earlier start had done; they aren't again."
    )
    output_path: str

    def count(self, line: BatchLine) -> BatchSummary:
        """Return the summary with one more line in it."""
        ended = "failed" if line.error or line.result is None else line.result.status
        more = {"lines": self.lines + 1, ended: getattr(self, ended) + 1}
        return self.model_copy(update=more)


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
) -> AsyncGenerator[BatchLine]:
    """Run each line as a swarm of its own and yield how it ended, in the lines' order.

    Blank lines are left out. A line that can't be understood, or whose run fails, yields its
    error, and the others go on. A line that the output has as completed is yielded as it is there.

    Args:
        lines: JSON, as `read_line` has it.
        options: For every line that does not say otherwise.
        concurrency: Lines to run in parallel; each has its own `max_concurrency`.
        output: What earlier starts left.
        shared: A name under which several machines do the lines together, each line once.

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
    slots = asyncio.Semaphore(concurrency)
    tasks = [
        asyncio.create_task(_ended(number, key, lines[number - 1], options, slots, output, shared))
        for key, number in lines_by_key(lines, options).items()
    ]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_Run = Callable[[BatchJob], Awaitable[SwarmResult | None]]


async def _ended(
    number: int,
    key: str,
    text: str,
    options: SwarmOptions,
    slots: asyncio.Semaphore,
    output: PrintedOutput,
    shared: str,
) -> BatchLine:
    if (completed := output.completed(key)) is not None:
        return completed
    begin = partial(output.begin, key)
    run: _Run = partial(run_job, before=output.run_of(key), begin=begin)
    if shared:
        run = partial(SharedLine(f"{shared}/{key}", begin_job, resume).run, begin=begin)
    while True:
        async with slots:
            line = await _run_line(number, text, options, run)
        if line is not None:
            error = excerpt(line.error, _ERROR_CHARS)
            return line.model_copy(update={"key": key, "error": error})
        # Another machine does it; what it holds up here is this line alone.
        await asyncio.sleep(LOOK_S)


async def _run_line(number: int, text: str, options: SwarmOptions, run: _Run) -> BatchLine | None:
    """Run a line; return how it ended, or None while another machine does it."""
    if current_control().cancel.is_set():
        return BatchLine(number=number, error="The batch was cancelled before this line.")
    try:
        job = read_line(text, options)
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


@schema_flow(
    name="swarm-batch",
    flow_run_name="batch {input_path}",
    persist_result=True,
    result_serializer="json",
    on_cancellation=[end_cancelling],
    description="Run every line of a JSONL file as a swarm.",
)
async def swarm_batch(
    input_path: str,
    output_path: str,
    options: OptionsParameter = SwarmOptions(),  # noqa: B008 - frozen
    concurrency: Annotated[int, Field(ge=1)] = 1,
    again: bool | None = None,
    shared: str = "",
) -> BatchSummary:
    """Run every line of a file and write how each ended into another.

    The output appears whole when the batch ends; until then it grows as `OUTPUT.part`. It ends
    as a Completed state of the name Partial if some lines failed. Lines that an earlier start
    completed are skipped; runs that had begun are resumed.

    Args:
        input_path: JSONL file on the worker, an absolute path: one objective or plan a line.
        output_path: File on the worker for the results, an absolute path: a line for each.
        options: Models and budgets of every line that has none of its own.
        concurrency: Lines to run in parallel.
        again: Whether all lines are done again; left empty, they are if a schedule started it.
            What the same flow run did before it crashed is never done again.
        shared: A name under which several of these flow runs, on any machines, do the lines
            together: each line once, and each of them has all results at the end.

    Raises:
        InputError: The input can't be read or the output can't be written.
        Pause: It was handed back to the worker that has its output.
        RunFailedError: Every line failed; the output has the reasons.
        RunLostError: It had begun on another machine.
    """
    look_up_result_folder()
    lines = _read(Path(input_path))
    _check_output(input_path, output_path)
    flow = this_flow_run()
    options = await settle_options(flow, options)
    if again is None:
        again = flow.auto_scheduled
    summary = BatchSummary(output_path=output_path)
    keys, final = lines_by_key(lines, options), _resolved(output_path)
    growing, here = final.with_name(f"{final.name}.part"), place_at(final)
    await _look_for_output(flow, final, here, options)
    async with cancelled_on_server(current_control(), str(flow.id)) as control:
        with (
            beating(),
            controlled(control),
            batch_output(final, growing, keys, str(flow.id), again=again) as output,
        ):
            await note_place(flow, here)
            summary = summary.model_copy(update={"passed_over": len(output.passed_over)})
            async with aclosing(run_batch(lines, options, concurrency, output, shared)) as ended:
                async for line in ended:
                    output.add(line)
                    summary = summary.count(line)
            output.finish()
    return _ending(summary)


async def _look_for_output(
    flow: FlowRun, final: Path, here: RunPlace, options: SwarmOptions
) -> None:
    """Begin, or go on where the batch's output is; what is lost here is handed back."""
    if options.start_over or has_started(final, str(flow.id)):
        return
    try:
        check_batch_not_lost(flow, here)
    except RunLostError as error:
        await hand_back(flow, here, error)
        raise


def _resolved(path: str) -> Path:
    return Path(path).resolve()


def _ending(summary: BatchSummary) -> Any:
    message = f"{summary.failed} of {summary.lines} lines failed; see {summary.output_path}."
    if summary.lines and summary.failed == summary.lines:
        raise RunFailedError(message)
    if summary.failed or summary.partial:
        # Prefect takes a state in a result's place; callers still get the result.
        return Completed(name="Partial", message=message, data=summary)
    return summary


def _read(path: Path) -> list[str]:
    text = read_text(
        path, "batch's input", "Give the path of a JSONL file that is there on the worker."
    )
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    return text.split("\n")


def _check_output(input_path: str, output_path: str) -> None:
    if Path(output_path).resolve() == Path(input_path).resolve():
        raise InputError(f"The batch's output {output_path} is its input too.", "Give another.")
