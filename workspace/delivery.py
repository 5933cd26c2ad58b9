"""A run's changes on their way into the user's folder: merged with what the folder is now."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import WorkspaceError
from ..files import storage_error, write_atomically
from .base import WorkspaceBase, current_tree, workspace_folder
from .folder_writes import FileWrite, read_file_in, write_files
from .names import first_names, path_problem
from .repository import Entry, FileChange, FileData, Repository

__all__ = [
    "Delivery",
    "FileOutcome",
    "deliver",
    "find_delivery",
    "folder_of_base",
    "outcome_of",
    "refused_change",
]

_NAMED = 10
_UNCHANGED = "Nothing was changed."
FileOutcome = Literal["added", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to become of a user's folder.

    Attributes:
        folder: The user's folder.
        has_moved_on: Whether it isn't any more as it was when the run began.
        writes: The files in which it differs from the merge with the run's changes.
        patch: The same as a patch, by which git takes it back.
    """

    folder: Path
    has_moved_on: bool
    writes: tuple[FileWrite, ...]
    patch: str


def find_delivery(repository: Repository, base: WorkspaceBase, whole: str, run: str) -> Delivery:
    """Merge a run's changes with the folder that it began with, as it is now; write nothing there.

    Args:
        whole: The commit with all changes of the run.
        run: The run's id, for what to do where that can't be.

    Raises:
        WorkspaceError: The folder isn't here, was changed in the same places, or has something in
            the way.
    """
    folder, is_git = folder_of_base(base, run)
    tree = current_tree(repository, folder, is_git=is_git)
    now = repository.commit(tree, (base.commit,), "Now\n", base.at)
    merged = repository.merged(now, whole, base.at)
    if merged.conflicts:
        branch = f"prefect-swarm apply {run} --branch NAME"
        raise WorkspaceError(
            f"{folder} has changed since the run began, and the run changed the same places of "
            f"{first_names(merged.conflicts, _NAMED)}. {_UNCHANGED}",
            f"Take the changes as a branch, and merge it: {branch}"
            if base.head
            else f"See the patch, and make its changes yourself: prefect-swarm patch {run}",
        )
    after = repository.tree_of(merged.commit)
    changes = repository.changes(tree, after)
    for change in changes:
        if why := refused_change(change):
            raise _in_the_way(change.path, why, f"Apply the patch yourself: {_patch_of(run)}")
    writes = [_write_of(repository, folder, change) for change in changes]
    return Delivery(
        folder=folder,
        has_moved_on=tree != repository.tree_of(base.commit),
        writes=tuple(write for write in writes if write.before != write.after),
        patch=repository.patch(tree, after, most=None),
    )


def deliver(repository: Repository, delivery: Delivery) -> Path:
    """Write what is to be written; return the file whose reverse takes it back.

    That is a patch of its own: the run's need not fit where the folder had moved on.

    Raises:
        WorkspaceError: What is there now isn't what was looked at, or is behind a link. Nothing was
            written.
        StorageError: A file can't be written. What had been written is as it was.
    """
    data = delivery.patch.encode()
    file = repository.folder / f"applied-{hashlib.sha256(data).hexdigest()[:12]}.patch"
    try:
        write_atomically(file, data)
    except OSError as error:
        raise storage_error(file, len(data), error) from None
    write_files(delivery.folder, delivery.writes)
    return file


def folder_of_base(base: WorkspaceBase, run: str) -> tuple[Path, bool]:
    """Return the folder that a run began with, and whether it is a repository of git's.

    Raises:
        WorkspaceError: It isn't here.
    """
    if not Path(base.folder).is_dir():
        raise WorkspaceError(
            f"The folder {base.folder}, which the run began with, isn't here.",
            f"Apply the patch where it is: {_patch_of(run)}",
        )
    return workspace_folder(base.folder)


def _patch_of(run: str) -> str:
    return f"prefect-swarm patch {run} | git apply"


def outcome_of(write: FileWrite) -> FileOutcome:
    """Say what becomes of a file. Pure."""
    if write.before is None:
        return "added"
    return "changed" if write.after is not None else "deleted"


def refused_change(change: FileChange) -> str:
    """Say why a change isn't written into a user's folder; "" if it may be. Pure."""
    if why := path_problem(change.path):
        return why
    kinds = {entry.kind for entry in (change.before, change.after) if entry is not None}
    if "link" in kinds:
        return "it is a link, and links are left to git"
    return "it is a repository within this one" if "submodule" in kinds else ""


def _in_the_way(path: str, why: str, advice: str) -> WorkspaceError:
    return WorkspaceError(f"{path} can't be written: {why}. {_UNCHANGED}", advice)


def _write_of(repository: Repository, folder: Path, change: FileChange) -> FileWrite:
    try:
        found = read_file_in(folder, change.path)
    except WorkspaceError as error:
        raise WorkspaceError(f"{error.problem} {_UNCHANGED}", error.fix) from None
    after = None
    if change.after is not None:
        data = _as_in_folder(repository, folder, change.after)
        after = FileData(data, change.after.kind == "executable")
    if found is not None and change.before is None and found != after:
        why = "a file of that name is there that git ignores"
        raise _in_the_way(change.path, why, "Put it elsewhere, then try again.")
    if change.before is not None and not _is(repository, folder, found, change.before):
        raise _in_the_way(change.path, "it was changed meanwhile", "Try again.")
    return FileWrite(change.path, found, after)


def _is(repository: Repository, folder: Path, found: FileData | None, entry: Entry) -> bool:
    if found is None:
        return False
    options = ("--stdin", f"--path={entry.path}")
    blob = repository.git("hash-object", *options, stdin=found.data, work=folder)
    return blob.decode().strip() == entry.blob and found.executable == (entry.kind == "executable")


def _as_in_folder(repository: Repository, folder: Path, entry: Entry) -> bytes:
    """Return what a file holds there, whose `.gitattributes` may ask for other line ends."""
    options = ("--filters", f"--path={entry.path}")
    return repository.git("cat-file", *options, entry.blob, work=folder)
