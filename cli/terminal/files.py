"""Files that a command writes where a person wants them: `--output DIR`, and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from ...errors import InputError, StorageError
from ...files import READABLE, file_problem, storage_error, write_atomically
from ...gates.python.layout import file_blocks
from ...plan.ids import root_of
from ...plan.made import MADE_SUFFIXES, Made, is_instance, made_by
from ...plan.task_ir import final_step
from ...store.result import SwarmResult
from ...store.step import StepState

__all__ = ["artifact_files", "check_folder", "extra_files", "write_folder", "write_html"]


def write_html(path: Path, document: str) -> None:
    """Write a document to a file, whole or not at all.

    Raises:
        InputError: It is a folder, or lies in one that isn't there.
        StorageError: It can't be written.
    """
    if path.is_dir():
        raise InputError(f"--html got {path}, which is a folder.", "Give a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"--html got {path}, in a folder that isn't there.", "Make the folder.")
    data = document.encode()
    try:
        write_atomically(path, data, mode=READABLE)
    except OSError as error:
        raise storage_error(path, len(data), error) from None


_NAME_CHARS = 40
_NOT_IN_NAMES = re.compile(r"[\W_]+")


def check_folder(folder: Path) -> None:
    """Refuse a folder that has files already: nothing of somebody else's is written over.

    Raises:
        InputError: It is not a folder, has something in it, or can't be read.
    """
    try:
        taken = folder.exists() and any(folder.iterdir())
    except NotADirectoryError:
        raise InputError(f"The output {folder} is not a folder.", "Give a folder.") from None
    except OSError as error:
        raise file_problem(f"output {folder}", error) from None
    if taken:
        raise InputError(
            f"The output {folder} is a folder with files in it.", "Give a new or an empty one."
        )


def artifact_files(
    result: SwarmResult, outputs: Mapping[str, str], *, is_json: bool = False
) -> dict[str, str]:
    """Return the files that a run makes, by their paths in the folder. Pure.

    The answer is `answer.md`, or has the suffix of the kind of the step that it is the output of. A
    step's artifact is named after its id and agent: `S1-physicist.py`. A table that was joined is
    CSV. An artifact of kind `files` is a folder of that name, with the files in it.

    Args:
        result: How the run ended.
        outputs: The whole outputs of its steps, by their ids.
        is_json: Whether the answer was asked for as JSON.
    """
    lists = {step.parent for step in result.steps if is_instance(step.id)}
    files: dict[str, str] = {}
    last = result.plan.final_step or final_step(result.plan.steps)
    if result.answer.strip():
        is_last = last is not None and outputs.get(last, "").strip() == result.answer.strip()
        made = made_by(result.plan.steps, last, lists) if last is not None and is_last else "text"
        files[f"answer{'.json' if is_json else MADE_SUFFIXES[made]}"] = result.answer
    for step in result.steps:
        if step.id in outputs:
            made = made_by(result.plan.steps, step.id, lists)
            files |= _artifact(step, made, outputs[step.id])
    return files


def extra_files(
    steps: Iterable[StepState], tool_files: Mapping[str, Mapping[str, bytes]]
) -> dict[str, bytes]:
    """Return the files that steps left with their tools, by their paths in the folder. Pure.

    Those of a step lie in a folder that is named after its id and agent: `S1-physicist-files`.

    Args:
        steps: The steps of the run.
        tool_files: Files by their paths, by the ids of their steps.
    """
    return {
        f"{_name(step)}-files/{path}": data
        for step in steps
        for path, data in tool_files.get(step.id, {}).items()
    }


def _name(step: StepState) -> str:
    words = _NOT_IN_NAMES.sub("-", step.agent.lower()).strip("-")[:_NAME_CHARS].rstrip("-")
    name = f"{step.id}-{words}" if words else step.id
    # Members lie in a folder, or what the plan's own steps made would be lost among them.
    return f"{root_of(step.id)}/{name}" if step.parent else name


def _artifact(step: StepState, made: Made, text: str) -> dict[str, str]:
    name = _name(step)
    if made == "files":
        paths = {block.path: block.text for block in file_blocks(text).files}
        if paths and all(map(_is_inside, paths)):
            return {f"{name}/{path}": content for path, content in paths.items()}
    return {f"{name}{MADE_SUFFIXES[made]}": text}


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(path) and not parts.is_absolute() and ".." not in parts.parts


def write_folder(folder: Path, files: Mapping[str, str | bytes], run_id: str) -> None:
    """Write files into a folder, each whole or not at all; if one can't be, none stays.

    Args:
        folder: Where to; it is made if need be.
        files: Texts, which end with a newline then, and data, by their paths in it.
        run_id: The run that they are of, for errors.

    Raises:
        InputError: Something was put into the folder meanwhile.
        StorageError: One can't be written.
    """
    check_folder(folder)
    written: list[Path] = []
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            ends = isinstance(content, bytes) or content.endswith("\n")
            write_atomically(path, content if ends else f"{content}\n", mode=READABLE)
            written.append(path)
    except OSError as error:
        _remove(folder, written)
        raise StorageError(
            f"The output {folder} can't be written: {error.strerror or error}.",
            f"The run is kept, and what it made: prefect-swarm inspect {run_id}, or its folder "
            f"{run_id}/outputs where runs lie.",
        ) from error


def _remove(folder: Path, written: Sequence[Path]) -> None:
    """Remove what was written, with the folders that it was put into."""
    for path in written:
        path.unlink(missing_ok=True)
    for path in written:
        for parent in path.relative_to(folder).parents:
            with suppress(OSError):
                (folder / parent).rmdir()
