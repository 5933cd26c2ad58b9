"""Many objectives from one file: a stream of results, and the flow that a schedule runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

from prefect.exceptions import CancelledRun, PausedRun
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import Field

from ..errors import InputError, SwarmError
from ..frozen import Frozen
from ..result import RunFailedError
from ..text_files import read_text
from .approving.left import left_waiting
from .batch_line import BatchLine, read_line
from .control import controlled, current_control, not_waiting
from .options import SwarmOptions
from .schema_flow import WITH_SCHEMAS, schema_flow
from .server_state.cancelling import cancelled_on_server, end_cancelling
from .server_state.heartbeats import beating
from .swarm import swarm

__all__ = ["BatchLine", "BatchSummary", "run_batch", "swarm_batch"]


class BatchSummary(Frozen):
    """How a batch went: how many lines there were and how they ended."""

    lines: int = 0
    completed: int = 0
    partial: int = 0
    failed: int = Field(default=0, description="Lines without a usable answer.")
    output_path: str

    def count(self, line: BatchLine) -> BatchSummary:
        """Return the summary with one more line in it."""
        ended = "failed" if line.error or line.result is None else line.result.status
        more = {"lines": self.lines + 1, ended: getattr(self, ended) + 1}
        return self.model_copy(update=more)


async def run_batch(
    lines: Iterable[str], options: SwarmOptions, concurrency: int = 1
) -> AsyncGenerator[BatchLine]:
    """Run each line as a swarm of its own and yield how it ended, in the lines' order.

    Blank lines are left out. A line that can't be understood, or whose run fails, yields its
    error, and the others go on.

    Args:
        lines: JSON, as `read_line` has it.
        options: For every line that does not say otherwise.
        concurrency: Lines to run at once; each has its own `max_concurrency`.
    """
    if concurrency < 1:
        raise InputError(f"A concurrency of {concurrency} runs nothing.", "Give 1 or more.")
    slots = asyncio.Semaphore(concurrency)
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    tasks = [
        asyncio.create_task(_run_line(number, line, options, slots)) for number, line in numbered
    ]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_line(
    number: int, text: str, options: SwarmOptions, slots: asyncio.Semaphore
) -> BatchLine:
    async with slots:
        if current_control().cancel.is_set():
            return BatchLine(number=number, error="The batch was cancelled before this line.")
        try:
            job = read_line(text, options)
            with not_waiting():
                result = await swarm(
                    job.objective, plan=job.plan, inputs=job.inputs or None, options=job.options
                )
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
) -> BatchSummary:
    """Run every line of a file and write how each ended into another.

    The output appears whole when the batch ends; until then it grows as `OUTPUT.part`. It ends
    as a Completed state of the name Partial if some lines failed.

    Args:
        input_path: JSONL file on the worker, an absolute path: one objective or plan a line.
        output_path: File on the worker for the results, an absolute path: a line for each.
        options: Models and budgets of every line that has none of its own.
        concurrency: Lines to run at once.

    Raises:
        InputError: The input can't be read or the output can't be written.
        RunFailedError: Every line failed; the output has the reasons.
    """
    lines = _read(Path(input_path))
    _check_output(input_path, output_path)
    summary = BatchSummary(output_path=output_path)
    async with cancelled_on_server(current_control(), str(flow_run.id)) as control:
        with beating(), controlled(control), _whole(Path(output_path)) as file:
            async with aclosing(run_batch(lines, options, concurrency)) as ended:
                async for line in ended:
                    print(line.to_json(), file=file, flush=True)
                    summary = summary.count(line)
    return _ending(summary)


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


@contextmanager
def _whole(path: Path) -> Generator[TextIO]:
    """Open a file that takes its name only once it is written."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The batch's output {path} can't be written: {error.strerror}.",
            "Give a path that can be written to.",
        ) from None
    with file:
        yield file
    part.replace(path)
