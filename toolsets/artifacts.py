"""Files that an attempt's tools leave, in the run's folder; no model is shown what they hold.

`artifacts/S1/2/plot.png` is of S1's second attempt, `artifacts/S1/2.1/plot.png` of that one's first
sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..store.folder import RunFolder
from ..store.step import StepState

__all__ = ["artifacts_of", "artifacts_read", "keep_artifacts"]

_FOLDER = "artifacts"


def keep_artifacts(run: RunFolder, step: str, attempt: str, files: Mapping[str, bytes]) -> None:
    """Have the files of an attempt be these, by their paths, and no others.

    Args:
        run: The run's folder.
        step: The step's id; "" for the orchestrator.
        attempt: As `ToolsetUse` names it.
        files: What they hold.

    Raises:
        RunDamagedError: What is there has links in it, or anything else but files and folders.
        StorageError: One can't be written; its path may lead out of the run's folder.
    """
    name = f"{_FOLDER}/{step or 'plan'}/{attempt.removeprefix(f'{step}.')}"
    before = run.names_below(name)
    for path in before:
        if path not in files:
            run.remove(f"{name}/{path}")
    # Empty folders go: a file may come in the place of one.
    with suppress(OSError):
        run.files.prune(name)
    for path, data in files.items():
        if path not in before or run.read_bytes(f"{name}/{path}") != data:
            run.write(f"{name}/{path}", data)


def artifacts_of(run: RunFolder, step: StepState) -> dict[str, Path]:
    """Return the files that the last attempt of a step left, by their paths.

    Where it is some samples, and more than one of them left files, paths begin with the sample.

    Raises:
        RunDamagedError: They have links among them, or anything else but files and folders.
    """
    if not step.attempts:
        return {}
    number = str(step.attempts[-1].number)
    root = f"{_FOLDER}/{step.id}"
    samples = [
        (int(found[1]), name)
        for name in run.names(root)
        if (found := re.fullmatch(rf"{number}\.([0-9]{{1,9}})", name))
    ]
    attempts = [number, *(name for _, name in sorted(samples))]
    left = {name: files for name in attempts if (files := run.names_below(f"{root}/{name}"))}
    return {
        path if len(left) == 1 else f"{name}/{path}": run.folder / root / name / path
        for name, files in left.items()
        for path in files
    }


def artifacts_read(run: RunFolder, step: StepState) -> dict[str, bytes]:
    """Return what the files hold that the last attempt of a step left, by their paths.

    Raises:
        RunDamagedError: As `artifacts_of` has it, or one can't be read.
    """
    found = artifacts_of(run, step)
    names = {path: place.relative_to(run.folder).as_posix() for path, place in found.items()}
    return {path: run.read_bytes(name) or b"" for path, name in names.items()}
