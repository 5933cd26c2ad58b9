"""The flow `swarm-batch`: many objectives from one file."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

from prefect.client.schemas.objects import FlowRun
from prefect.states import Completed
from pydantic import Field

from ..data_types import Frozen
from ..errors import (
    InputError,
    RunLostError,
)
from ..files import read_text
from ..store.result import RunFailedError
from .batch_files import (
    BatchLine,
    batch_output,
    has_started,
)
from .batch_run import lines_by_key, run_batch
from .control import controlled, current_control
from .options import SwarmOptions
from .prefect_io.batch_page import batch_page_kept
from .prefect_io.deployment import settle_options
from .prefect_io.flow_run import (
    beating,
    cancelled_on_server,
    end_cancelling,
    this_flow_run,
)
from .prefect_io.lost import RunPlace, check_batch_not_lost, hand_back, note_place, place_at
from .prefect_io.schema_flow import OptionsParameter, schema_flow
from .prefect_io.task_runs import look_up_result_folder

__all__ = ["BatchSummary", "swarm_batch"]


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
            async with batch_page_kept(flow, options.pages) as listener:
                stream = run_batch(lines, options, concurrency, output, shared, listener)
                async with aclosing(stream) as ended:
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
