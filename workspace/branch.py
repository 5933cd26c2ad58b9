"""A run's changes as a branch of the user's repository: a commit for each patch that was taken.

Working folder, index and current branch are left alone: the commits are made with an index that is
elsewhere, and no hook, filter or monitor of the repository runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import WorkspaceError
from .base import WorkspaceBase
from .delivery import folder_of_base
from .git import Git, GitFailedError, read_only
from .repository import Repository, change_index

__all__ = ["BranchCommit", "MadeCommit", "add_branch", "uncommitted_message"]

_NO_OBJECT = "0" * 40
_SUBMODULE = "160000"
_IDENTITY = re.compile(r"(?P<name>.*) <(?P<email>[^<>]*)> \d+ [+-]\d{4}")
_Listing = Mapping[str, tuple[str, str]]
"""The files of a tree: git's mode and the blob, by their paths."""
_Differences = Mapping[str, tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class BranchCommit:
    """A commit that a branch is to have.

    Attributes:
        whole: The commit of the run's repository whose files it has.
        message: What it says.
    """

    whole: str
    message: str


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit of the new branch."""

    commit: str
    subject: str


def uncommitted_message(run: str) -> str:
    """Return the message of the commit with what a folder had when a run began. Pure."""
    return f"What was uncommitted when run {run} began\n\nSwarm-Run: {run}\n"


def add_branch(
    repository: Repository,
    base: WorkspaceBase,
    name: str,
    commits: Sequence[BranchCommit],
    run: str,
) -> tuple[MadeCommit, ...]:
    """Add a branch to the repository that a run began with; return its commits, the oldest first.

    It begins at the commit that was checked out then. What was not committed is a commit of its
    own. A commit that changes nothing is left out.

    Raises:
        WorkspaceError: The folder is no repository any more, or has lost that commit; the branch is
            there already, or can't be called so; or nobody has said who the author is.
    """
    folder, is_git = folder_of_base(base, run)
    if not is_git or not base.head:
        raise WorkspaceError(
            f"{folder} had no commit of git's that a branch could begin with.",
            "Without --branch the changes are written into the folder.",
        )
    git_folder = read_only(folder, "rev-parse", "--absolute-git-dir").decode().strip()
    # A split index would leave a part of itself in the user's repository.
    user = Git(Path(git_folder), {"core.splitIndex": "false"})
    _check_commit(user, folder, base.head)
    _check_name(user, folder, name)
    identity = _identity(folder)
    steps = [
        (uncommitted_message(run), _uncommitted(repository, user, base)),
        *_steps(repository, base.commit, commits),
    ]
    if not any(changed for _, changed in steps[1:]):
        raise WorkspaceError("The run changes nothing that a branch could have.", "See its answer.")
    _send(repository, user, (changed for _, changed in steps))
    with repository.temporary() as folder:
        made = _commit_each(user, base.head, steps, identity, folder / "index")
    try:
        reason = ("-m", f"prefect-swarm apply {run}")
        ref = ("--no-deref", f"refs/heads/{name}", made[-1].commit, _NO_OBJECT)
        user("update-ref", *reason, *ref, environment=identity)
    except GitFailedError as error:
        raise WorkspaceError(
            f"The branch {name} can't be made: {error.problem}", "Give another name."
        ) from None
    return tuple(made)


def _commit_each(
    user: Git,
    head: str,
    steps: Sequence[tuple[str, _Differences]],
    identity: Mapping[str, str],
    index: Path,
) -> list[MadeCommit]:
    """Make commits one upon another; none for what changes nothing."""
    made: list[MadeCommit] = []
    user("read-tree", head, index=index)
    for message, changed in steps:
        if not changed:
            continue
        change_index(user, index, changed)
        tree = user("write-tree", index=index).decode().strip()
        parent = made[-1].commit if made else head
        text = message.encode()
        printed = user("commit-tree", tree, "-p", parent, stdin=text, environment=identity)
        made.append(MadeCommit(printed.decode().strip(), message.partition("\n")[0]))
    return made


def _check_commit(user: Git, folder: Path, head: str) -> None:
    try:
        user("cat-file", "-e", f"{head}^{{tree}}")
    except GitFailedError:
        raise WorkspaceError(
            f"The repository {folder} doesn't have the commit {head[:12]} any more, which the run "
            "began with.",
            "Without --branch the changes are merged into the folder as it is.",
        ) from None


def _check_name(user: Git, folder: Path, name: str) -> None:
    try:
        # It would write out a short form such as @{-1}.
        if user("check-ref-format", "--branch", name).decode() != f"{name}\n":
            raise ValueError
    except (GitFailedError, ValueError):
        raise WorkspaceError(
            f"A branch can't be called {name!r}.", "Give another name, such as swarm/fix."
        ) from None
    ref = f"refs/heads/{name}"
    try:
        user("show-ref", "--verify", "--quiet", ref)
    except GitFailedError:
        if _current(user) != ref:
            return
    raise WorkspaceError(
        f"The repository {folder} has a branch {name} already.", "Give another name."
    )


def _current(user: Git) -> str:
    """Return the current branch, which may have no commit yet; "" where there is none."""
    try:
        return user("symbolic-ref", "--quiet", "HEAD").decode().strip()
    except GitFailedError:
        return ""


def _identity(folder: Path) -> dict[str, str]:
    """Return who the user is to git, for author and committer."""
    found: dict[str, str] = {}
    for role in ("AUTHOR", "COMMITTER"):
        try:
            asked = ("-c", "user.useConfigOnly=true", "var", f"GIT_{role}_IDENT")
            printed = read_only(folder, *asked).decode("utf-8", "replace").strip()
            said = _IDENTITY.fullmatch(printed)
        except GitFailedError:
            said = None
        if said is None:
            raise WorkspaceError(
                "git doesn't know who the commits are to be by: user.name or user.email isn't set.",
                f"Set both: git -C {folder} config user.name 'Your Name', and user.email.",
            )
        found |= {f"GIT_{role}_NAME": said["name"], f"GIT_{role}_EMAIL": said["email"]}
    return found


def _steps(
    repository: Repository, start: str, commits: Sequence[BranchCommit]
) -> list[tuple[str, _Differences]]:
    """Return what each commit brings to the one before it."""
    found: list[tuple[str, _Differences]] = []
    before = start
    for each in commits:
        changed = {
            change.path: None if (after := change.after) is None else (after.mode, after.blob)
            for change in repository.changes(before, each.whole)
        }
        found.append((each.message, changed))
        before = each.whole
    return found


def _uncommitted(repository: Repository, user: Git, base: WorkspaceBase) -> _Differences:
    return differences(_listed(user, base.head), _listed(repository.git, base.commit))


def differences(before: _Listing, after: _Listing) -> _Differences:
    """Return what makes one tree of another; None where a file goes. Pure.

    A repository within another stays as it is: the folder alone doesn't say at which commit it is.
    """
    changed: dict[str, tuple[str, str] | None] = {}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old != new and _SUBMODULE not in ((old or ("",))[0], (new or ("",))[0]):
            changed[path] = new
    return changed


def _listed(git: Git, commit: str) -> _Listing:
    found: dict[str, tuple[str, str]] = {}
    for line in git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, blob = head.decode().split()
            found[path.decode("utf-8", "surrogateescape")] = mode, blob
    return found


def _send(repository: Repository, user: Git, changes: Iterable[_Differences]) -> None:
    """Have the user's repository hold what the files of some commits hold."""
    blobs = {new[1] for changed in changes for new in changed.values() if new is not None}
    if not blobs:
        return
    asked = "".join(f"{blob}\n" for blob in sorted(blobs)).encode()
    pack = repository.git("pack-objects", "--stdout", "-q", stdin=asked)
    user("unpack-objects", "-q", stdin=pack)
