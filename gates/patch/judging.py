"""What gates of patches look at: the files before and after, and what checks come to on a tree."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from ...errors import GateError
from ...files import make_folder, write_atomically
from ...workspace.place import Workplace
from ...workspace.repository import FileChange, Repository, folder_of
from ..base import Subject
from .check_report import CheckOutcome, read_report
from .execution import LIMITS, CommandResult, Executed, execute, files_of

__all__ = ["JudgedPatch", "checked", "judged", "keep_outcome", "place_of", "run_tool_over"]

_PRINTED = 4_000
_MOST_CHARACTERS = 4_000_000
_outcomes = TypeAdapter(tuple[CheckOutcome, ...])


@dataclass(frozen=True, slots=True)
class JudgedPatch:
    """A patch that applies: the trees before and after it, and the files in which they differ."""

    place: Workplace
    repository: Repository
    before: str
    after: str
    changes: tuple[FileChange, ...]

    @property
    def python_files(self) -> list[str]:
        """The files of Python that it leaves."""
        return [
            change.path
            for change in self.changes
            if change.after is not None and change.path.endswith((".py", ".pyi"))
        ]


def place_of(subject: Subject) -> Workplace:
    """Return where a patch belongs.

    Raises:
        GateError: The run has no workspace.
    """
    if subject.workplace is None:
        raise GateError("A patch needs a workspace, and there is none.", "Give --workspace FOLDER.")
    return subject.workplace


def judged(subject: Subject) -> JudgedPatch:
    """Apply a patch to what its step starts from.

    Raises:
        PatchError: It doesn't fit.
        GateError: The run has no workspace.
    """
    place = place_of(subject)
    repository = Repository(folder_of(place.run))
    before = repository.tree_of(place.start)
    after = repository.applied(before, subject.artifact)
    return JudgedPatch(place, repository, before, after, repository.changes(before, after))


_busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def checked(repository: Repository, place: Workplace, tree: str) -> tuple[CheckOutcome, ...]:
    """Return what a workspace's checks come to on a tree; they are run on it once.

    Raises:
        SandboxError: The sandbox can't be made.
    """
    file = _file(repository, place, tree)
    lock = _busy.setdefault(str(file), asyncio.Lock())
    async with lock:
        with suppress(OSError, ValidationError):
            return _outcomes.validate_json(await asyncio.to_thread(file.read_bytes))
        found = await _run_checks(repository, place, tree)
        if not any(outcome.ended for outcome in found):
            await asyncio.to_thread(_store, file, found)
        return found


def keep_outcome(repository: Repository, place: Workplace, tree: str, done: Executed) -> None:
    """Keep what the checks came to on a tree for the gate, unless that is known.

    Whoever runs them once more until they pass changes nothing.

    Args:
        done: The checks, run over the tree with their reports.
    """
    file = _file(repository, place, tree)
    if not done.ended and not file.exists():
        _store(file, _outcomes_of(done))


def _file(repository: Repository, place: Workplace, tree: str) -> Path:
    facts = json.dumps([tree, place.checks, place.python, place.folder])
    name = hashlib.sha256(facts.encode()).hexdigest()[:40]
    return repository.folder / "checks" / f"{name}.json"


def _store(file: Path, found: tuple[CheckOutcome, ...]) -> None:
    make_folder(file.parent)
    write_atomically(file, _outcomes.dump_json(found))


async def _run_checks(
    repository: Repository, place: Workplace, tree: str
) -> tuple[CheckOutcome, ...]:
    async with files_of(repository, tree) as files:
        done = await execute(
            files, place.checks, place=place.folder, python=place.python, reports=True
        )
    if done.ended:
        return tuple(CheckOutcome(exit_code=-1, ended=done.ended) for _ in place.checks)
    return await asyncio.to_thread(_outcomes_of, done)


def _outcomes_of(done: Executed) -> tuple[CheckOutcome, ...]:
    return tuple(
        CheckOutcome(
            exit_code=result.exit_code,
            printed=result.output[-_PRINTED:],
            tests=read_report(report),
        )
        for result, report in zip(done.results, done.reports, strict=True)
    )


async def run_tool_over(
    repository: Repository, place: Workplace, tree: str, commands: Sequence[str]
) -> tuple[CommandResult, ...]:
    """Run a project's tools over a tree; where the sandbox ended them, the exit code is -1.

    Raises:
        SandboxError: The sandbox can't be made.
    """
    async with files_of(repository, tree) as files:
        done = await execute(
            files,
            commands,
            place=place.folder,
            python=place.python,
            limits=LIMITS,
            characters=_MOST_CHARACTERS,
        )
    if done.ended:
        return tuple(CommandResult(exit_code=-1, output=done.ended) for _ in commands)
    return done.results
