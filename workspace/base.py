"""The base of a run's work: a user's folder as it is when the run begins, copied once."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from ..data_types import Frozen
from ..errors import WorkspaceError
from .git import GitFailedError, read_only
from .repository import Repository

__all__ = ["Outline", "WorkspaceBase", "current_tree", "outline", "record_base", "workspace_folder"]

_MOST_FILES = 200_000
_MOST_BYTES = 1 << 30
_NAMED = 40


class WorkspaceBase(Frozen):
    """What a run's changes are made to.

    Attributes:
        folder: The user's folder.
        head: The commit that is checked out there; "" where it is no repository of git, or has no
            commit yet.
        is_dirty: Whether the folder had changes that are not in that commit.
        commit: The commit of the whole folder in the run's own repository.
        at: When it was recorded, seconds since 1970.
        files: How many files it has.
    """

    folder: str
    head: str = ""
    is_dirty: bool = False
    commit: str
    at: int
    files: int = Field(ge=0)


def workspace_folder(path: str) -> tuple[Path, bool]:
    """Return the folder that a user names, and whether it is a repository of git's.

    Raises:
        WorkspaceError: It is no folder, or one within a repository.
    """
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise WorkspaceError(f"The workspace {path} is no folder.", "Name a folder that is there.")
    try:
        top = _path(read_only(folder, "rev-parse", "--show-toplevel"))
    except GitFailedError as error:
        if "not a git repository" not in error.problem:
            raise WorkspaceError(
                f"git can't read the workspace {folder}: {error.problem}", "See what it says."
            ) from None
        return folder, False
    if top and Path(top).resolve() != folder:
        raise WorkspaceError(
            f"The workspace {folder} is a part of the repository {top}.",
            f"Name {top}; output.only of a step says where its patch may go.",
        )
    return folder, True


def record_base(repository: Repository, path: str, at: int) -> WorkspaceBase:
    """Copy a folder into the run's repository: what git has there, and what it doesn't ignore.

    Args:
        at: Now, seconds since 1970.

    Raises:
        WorkspaceError: It is no folder, is too large, or can't be read.
    """
    folder, is_git = workspace_folder(path)
    repository.make()
    repository.drop_left_folders()
    head = _head(folder) if is_git else ""
    tree = current_tree(repository, folder, is_git=is_git)
    entries = repository.entries(tree)
    size = sum(entry.size for entry in entries.values())
    if len(entries) > _MOST_FILES or size > _MOST_BYTES:
        raise WorkspaceError(
            f"The workspace {folder} has {len(entries):,} files of {size:,} bytes; "
            f"{_MOST_FILES:,} of {_MOST_BYTES:,} are the most.",
            "Have git ignore what is made from other files, or name a smaller folder.",
        )
    commit = repository.commit(tree, (), "Base\n", at)
    dirty = bool(head) and tree != _tree_of_head(folder)
    return WorkspaceBase(
        folder=str(folder),
        head=head,
        is_dirty=dirty,
        commit=commit,
        at=at,
        files=len(entries),
    )


def current_tree(repository: Repository, folder: Path, *, is_git: bool) -> str:
    """Return a user's folder as it is now as a tree of the run's repository.

    Raises:
        WorkspaceError: It can't be read.
    """
    # Written into one pack: a file for each object takes four times as long.
    git = replace(repository.git, settings={"core.bigFileThreshold": "1"})
    with repository.temporary() as made:
        index = made / "index"
        (git.folder / "info" / "exclude").write_bytes(_excludes(folder) if is_git else b"")
        try:
            git("add", "--all", "--", ".", index=index, work=folder)
            if is_git and (left := _left_out(git("ls-files", "-z", index=index), folder)):
                # What git has is a part of it, even where a rule ignores it.
                asked = b"".join(name + b"\0" for name in left)
                options = ("--force", "--pathspec-from-file=-", "--pathspec-file-nul")
                git("add", *options, index=index, work=folder, stdin=asked)
        except GitFailedError as error:
            raise WorkspaceError(
                f"The workspace {folder} can't be copied: {error.problem}",
                "Have git ignore what can't be read there.",
            ) from None
        return git("write-tree", index=index).decode().strip()


def _head(folder: Path) -> str:
    try:
        return read_only(folder, "rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
    except GitFailedError:
        return ""


def _tree_of_head(folder: Path) -> str:
    return read_only(folder, "rev-parse", "HEAD^{tree}").decode().strip()


def _tracked(folder: Path) -> list[bytes]:
    """Return what git has there and what is still a file or link there."""
    listed = read_only(folder, "ls-files", "-z", "--stage", "--cached")
    names = dict.fromkeys(line.partition(b"\t")[2] for line in listed.split(b"\0") if line)
    root, known = os.fsencode(folder), dict[bytes, bool]()
    return [name for name in names if _is_file(root, name, known)]


def _left_out(listed: bytes, folder: Path) -> list[bytes]:
    """Return what git has there and the files that it has listed lack."""
    there = {*listed.split(b"\0")}
    return [name for name in _tracked(folder) if name not in there]


def _is_file(root: bytes, name: bytes, known: dict[bytes, bool]) -> bool:
    """Whether a file or link is there, in folders that are no links: git refuses what is in one."""
    above = name.rpartition(b"/")[0]
    while above:
        if above not in known:
            known[above] = os.path.islink(os.path.join(root, above))
        if known[above]:
            return False
        above = above.rpartition(b"/")[0]
    try:
        mode = os.lstat(os.path.join(root, name)).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _excludes(folder: Path) -> bytes:
    """Return the rules by which a user has git ignore files outside of `.gitignore`.

    Of two that contradict each other the last counts, so those of the repository come last.
    """
    paths = [_excludes_file(folder)]
    with suppress(GitFailedError):
        paths.append(folder / _path(read_only(folder, "rev-parse", "--git-path", "info/exclude")))
    texts: list[bytes] = []
    for path in paths:
        with suppress(OSError):
            texts.append(path.read_bytes())
    return b"\n".join(texts)


def _excludes_file(folder: Path) -> Path:
    try:
        found = read_only(folder, "config", "--type=path", "--get", "core.excludesFile")
    except GitFailedError:
        configured = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
        return Path(configured, "git", "ignore")
    return folder / _path(found)


def _path(printed: bytes) -> str:
    return os.fsdecode(printed.removesuffix(b"\n"))


@dataclass(frozen=True, slots=True)
class Outline:
    """What a planner is told of a workspace: its top, and the kinds of its files."""

    files: int
    top: tuple[str, ...]
    kinds: tuple[tuple[str, int], ...]


def outline(paths: Sequence[str]) -> Outline:
    """Return the outline of a tree: folders with how many files they have, and endings. Pure."""
    top: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for path in paths:
        first, slash, _ = path.partition("/")
        top[first + slash] = top.get(first + slash, 0) + 1
        name = path.rpartition("/")[2]
        ending = f".{name.rpartition('.')[2]}" if "." in name.lstrip(".") else name
        kinds[ending] = kinds.get(ending, 0) + 1
    shown = [
        f"{name} ({count} files)" if name.endswith("/") else name for name, count in top.items()
    ]
    most = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    return Outline(len(paths), tuple(shown[:_NAMED]), tuple(most[:8]))
