"""What a run made, as files: in a folder, or in the storage that its options name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice

from ..errors import StorageError
from ..inputs.storage_paths import StoragePath, parse_output_folder
from ..report.output_files import artifact_files, extra_files, with_pictures
from ..store.protocol import RunStore
from ..store.result import SwarmResult
from ..store.step import StepState
from ..text import plural
from .options import SwarmOptions
from .prefect_io.storage import check_writable, write_storage

__all__ = ["check_output", "output_files", "write_output"]

_MOST_PICTURES = 64
"""Of those that the calls of a step returned: as many as the files that its code may leave."""
_logger = logging.getLogger("prefect_swarm.runs")


def output_files(run: RunStore, result: SwarmResult, *, is_json: bool) -> Mapping[str, bytes]:
    """Return the files that a run made, by their paths; a text ends with a newline.

    Args:
        run: Where it is stored.
        result: How it ended.
        is_json: Whether the answer was asked for as JSON.
    """
    stored = ((step.id, run.output(step.id)) for step in result.steps)
    outputs = {name: text for name, text in stored if text is not None}
    left = {
        step.id: with_pictures(run.read_artifacts(step), _pictures(run, step))
        for step in result.steps
        if step.status == "succeeded"
    }
    texts = artifact_files(result, outputs, is_json=is_json)
    whole = {name: (text if text.endswith("\n") else f"{text}\n") for name, text in texts.items()}
    return {name: text.encode() for name, text in whole.items()} | extra_files(result.steps, left)


def _pictures(run: RunStore, step: StepState) -> dict[str, bytes | None]:
    return {name: run.picture(name) for name in islice(step.pictures, _MOST_PICTURES)}


async def check_output(run: RunStore, options: SwarmOptions) -> None:
    """Look whether a run's output can be written, before any model is asked.

    Raises:
        InputError: Its place isn't written as it has to be, or no such storage is there.
        ServerError: The Prefect server can't be asked.
        StorageError: The storage doesn't answer.
    """
    if (folder := _folder(run, options)) is not None:
        await check_writable(folder)


async def write_output(run: RunStore, result: SwarmResult, options: SwarmOptions) -> None:
    """Write what a run made where its options say; nothing where no step succeeded.

    Raises:
        InputError: The storage is there no more.
        ServerError: The Prefect server can't be asked.
        StorageError: It can't be written to.
    """
    folder = _folder(run, options)
    if folder is None or result.status == "failed":
        return
    files = output_files(run, result, is_json=options.answer_schema is not None)
    try:
        await write_storage(folder, files)
    except StorageError as error:
        again = f"The run is kept. Write it again: prefect-swarm resume {run.run_id}"
        raise StorageError(error.problem, f"{error.fix} {again}") from error
    _logger.info("Wrote %s into %s.", plural(len(files), "file"), folder)


def _folder(run: RunStore, options: SwarmOptions) -> StoragePath | None:
    if options.output_to is None:
        return None
    about = run.about()
    planned = about.scheduled_at or about.started_at or 0.0
    date = datetime.fromtimestamp(planned, UTC).date().isoformat()
    return parse_output_folder(options.output_to, run.run_id, date)
