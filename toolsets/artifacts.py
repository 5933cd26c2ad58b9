"""Files that an attempt's tools leave, in the run's folder; no model is shown what they hold.

`artifacts/S1/2/plot.png` is of S1's second attempt, `artifacts/S1/2.1/plot.png` of that one's first
sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..result import StepResult
from ..runs import RunFolder

__all__ = ["artifacts_of", "keep_artifacts"]

_FOLDER = "artifacts"


def keep_artifacts(run: RunFolder, step: str, attempt: str, files: Mapping[str, bytes]) -> None:
    """Have the files of an attempt be these, by their paths, and no others.

    Args:
        run: The run's folder.
        step: The step's id; "" for the orchestrator.
        attempt: As `ToolsetUse` names it.
        files: What they hold.

    Raises:
        StorageError: One can't be written.
    """
    name = f"{_FOLDER}/{step or 'plan'}/{attempt.removeprefix(f'{step}.')}"
    folder = run.folder / name
    for path in _files(folder):
        if files.get(path.relative_to(folder).as_posix()) is None:
            path.unlink(missing_ok=True)
    # Empty folders go, the inner ones first: a file may come in the place of one.
    for path in sorted(folder.rglob("*"), reverse=True):
        with suppress(OSError):
            path.rmdir()
    for path, data in files.items():
        if not (folder / path).is_file() or (folder / path).read_bytes() != data:
            run.write(f"{name}/{path}", data)


def artifacts_of(run: RunFolder, step: StepResult) -> dict[str, Path]:
    """Return the files that the last attempt of a step left, by their paths.

    Where it is some samples, and more than one of them left files, paths begin with the sample.
    """
    if not step.attempts:
        return {}
    number = str(step.attempts[-1].number)
    root = run.folder / _FOLDER / step.id
    samples = sorted(root.glob(f"{number}.*"), key=lambda path: int(path.suffix[1:]))
    folders = [path for path in (root / number, *samples) if _files(path)]
    found: dict[str, Path] = {}
    for folder in folders:
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            found[name if len(folders) == 1 else f"{folder.name}/{name}"] = path
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
