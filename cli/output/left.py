"""What a command shows of the files that steps left with their tools."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...inputs.limits import size
from ...result import StepResult
from ...runs import RunFolder
from ...toolsets.artifacts import artifacts_of
from .printing import print_section

__all__ = ["print_files"]


def print_files(run: RunFolder, steps: Iterable[StepResult]) -> None:
    """Print the files of each step with their sizes and where they lie; nothing if there are none.

    Texts that were kept in files are not shown: models wrote them, and they may be anything.
    """
    lines = [
        f"{step.id} {name} ({_size(run, path)}): {path}"
        for step in steps
        for name, path in artifacts_of(run, step).items()
    ]
    if lines:
        print_section("Files", lines)


def _size(run: RunFolder, path: Path) -> str:
    name = path.relative_to(run.folder).as_posix()
    with run.readable(name):
        return size(run.files.state(name).st_size)
