"""Many objectives from one file: a stream of results, and the flow that a schedule runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import CancelledRun, PausedRun
from prefect.states import Completed
from pydantic import Field

from ..errors import InputError, RunLostError, SwarmError
from ..frozen import Frozen
from ..result import RunFailedError, excerpt
from ..text_files import read_text
from .approving.asking import left_waiting
from .batch_line import BatchLine, read_line
from .batches.output import PrintedOutput, batch_output, has_begun, line_keys
from .batches.running import run_job
from .control import controlled, current_control, not_waiting
from .lost import RunPlace, check_batch_not_lost, hand_back, note_place, place_at
from .options import SwarmOptions
from .run_inputs import inputs_digest
from .schema_flow import WITH_SCHEMAS, schema_flow
from .server_state.flow_run import beating, cancelled_on_server, end_cancelling, this_flow_run
from .stored.result_folder import look_up_result_folder

__all__ = ["BatchLine", "BatchSummary", "lines_by_key", "run_batch", "swarm_batch"]

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
) -> AsyncGenerator[BatchLine]:
    """Run each line as a swarm of its own and yield how it ended, in the lines' order.

    Blank lines are left out. A line that can't be understood, or whose run fails, yields its
    error, and the others go on. A line that the output has as completed is yielded as it is there.

    Args:
        lines: JSON, as `read_line` has it.
        options: For every line that does not say otherwise.
        concurrency: Lines to run at once; each has its own `max_concurrency`.
        output: What earlier starts left.
    """
    lines = [*lines]
    if concurrency < 1:
        raise InputError(f"A concurrency of {concurrency} runs nothing.", "Give 1 or more.")
    slots = asyncio.Semaphore(concurrency)
    tasks = [
        asyncio.create_task(_ended(number, key, lines[number - 1], options, slots, output))
        for key, number in lines_by_key(lines, options).items()
    ]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(
    number: int,
    key: str,
    text: str,
    options: SwarmOptions,
    slots: asyncio.Semaphore,
    output: PrintedOutput,
) -> BatchLine:
    if (completed := output.completed(key)) is not None:
        return completed
    async with slots:
        line = await _run_line(number, key, text, options, output)
    return line.model_copy(update={"key": key, "error": excerpt(line.error, _ERROR_CHARS)})


async def _run_line(
    number: int, key: str, text: str, options: SwarmOptions, output: PrintedOutput
) -> BatchLine:
    if current_control().cancel.is_set():
        return BatchLine(number=number, error="The batch was cancelled before this line.")
    try:
        job = read_line(text, options)
        with not_waiting():
            result = await run_job(job, output.run_of(key), partial(output.begin, key))
    except RunFailedError as error:
        return BatchLine(number=number, result=error.result, error=str(error))
    except SwarmError as error:
        return BatchLine(number=number, error=str(error))
    except PausedRun as error:
        return BatchLine(number=number, error=str(left_waiting(error)))
    except CancelledRun as error:
        return BatchLine(number=number, error=f"The run was cancelled. {error}")
    except Exception as error:  # noqa: BLE001 - one line's trouble is not the others'
        return BatchLine(number=number, error=repr(error))
    return BatchLine(number=number, result=result)


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
    options: Annotated[SwarmOptions, WITH_SCHEMAS] = SwarmOptions(),  # noqa: B008 - frozen; Prefect makes the form from it
    concurrency: Annotated[int, Field(ge=1)] = 1,
    again: bool | None = None,
) -> BatchSummary:
    """Run every line of a file and write how each ended into another.

    The output appears whole when the batch ends; until then it grows as `OUTPUT.part`. It ends
    as a Completed state of the name Partial if some lines failed. Lines that an earlier start
    completed are passed over; of the others, runs that had begun are gone on with.

    Args:
        input_path: JSONL file on the worker, an absolute path: one objective or plan a line.
        output_path: File on the worker for the results, an absolute path: a line for each.
        options: Models and budgets of every line that has none of its own.
        concurrency: Lines to run at once.
        again: Whether all lines are done again; left empty, they are if a schedule started it.
            What the same flow run did before it crashed is never done again.

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
            async with aclosing(run_batch(lines, options, concurrency, output)) as ended:
                async for line in ended:
                    output.add(line)
                    summary = summary.count(line)
            output.finish()
    return _ending(summary)


async def _look_for_output(
    flow: FlowRun, final: Path, here: RunPlace, options: SwarmOptions
) -> None:
    """Begin, or go on where the batch's output is; what is lost here is handed back."""
    if options.start_over or has_begun(final, str(flow.id)):
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
