"""The repository of a run: trees of files, changes of them, patches and merges.

Trees and commits are named by their ids. Nothing here needs a working folder, except `checked_out`,
which gives one to read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from ..errors import WorkspaceError
from ..files import make_folder, process_lives
from .git import Git, GitFailedError
from .names import is_secret

__all__ = [
    "LARGEST_FILE",
    "LARGEST_PATCH",
    "Entry",
    "FileChange",
    "FileData",
    "FoundLine",
    "Kind",
    "Merged",
    "PatchError",
    "PatchTooLargeError",
    "Repository",
    "change_index",
    "folder_of",
]

Kind = Literal["file", "executable", "link", "submodule"]
_KINDS: dict[str, Kind] = {
    "100644": "file",
    "100755": "executable",
    "120000": "link",
    "160000": "submodule",
}
_MODES: dict[Kind, str] = {kind: mode for mode, kind in _KINDS.items()}
_GONE = ("0", "0" * 40)
"""Git's mode and blob of a file that an index is to lose."""
_MIB = 1 << 20
LARGEST_PATCH = 4 * _MIB
"""Bytes that a patch may have: it is read by gates, persons and models."""
LARGEST_FILE = 4 * _MIB
"""Bytes of a file that a subagent may write."""
_NAMES = ("utf-8", "surrogateescape")
"""How names of files are read, so that any name is written as it was."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_making = Lock()
_readers: defaultdict[Path, int] = defaultdict(int)
_SEARCH_S = 20.0
"""What a search may take: some expressions take for ever."""
_FOUND_BYTES = 8 * _MIB
_WHO = {"NAME": "Prefect Swarm", "EMAIL": "swarm@localhost"}


class PatchTooLargeError(WorkspaceError):
    """A step has changed more than a patch may have."""


class PatchError(WorkspaceError):
    """A patch can't be applied to a tree; says where it doesn't fit."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree: what kind of file it is, git's name for what it holds, and its bytes."""

    path: str
    kind: Kind
    blob: str
    size: int

    @property
    def mode(self) -> str:
        """Git's word for its kind."""
        return _MODES[self.kind]


@dataclass(frozen=True, slots=True)
class FileData:
    """What a file is to hold."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """How a file differs between two trees; None where it isn't in one of them."""

    path: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that a search found; lines count from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What two commits come to: a commit, or the paths on which they conflict."""

    commit: str
    conflicts: tuple[str, ...] = ()


def folder_of(run: str) -> Path:
    """Return where a run's repository is on this machine."""
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ..settings import home

    return home() / "workspaces" / run


@dataclass(frozen=True, slots=True)
class Repository:
    """A bare repository in `folder/git`, and what single processes need of it in `folder/trees`."""

    folder: Path

    @property
    def git(self) -> Git:
        """Git on it."""
        return Git(self.folder / "git")

    @property
    def is_there(self) -> bool:
        """Whether it was made."""
        return (self.folder / "git" / "HEAD").exists()

    def make(self) -> None:
        """Make it, unless it is there.

        Raises:
            WorkspaceError: There is no git, or it can't be made.
        """
        if self.is_there:
            return
        # First: whoever is killed in between has it as well.
        make_folder(self.folder / "git" / "info")
        self.git("init", "--bare", "--quiet", "--template=")

    def drop_left_folders(self) -> None:
        """Free what processes had here for themselves that are gone."""
        trees = self.folder / "trees"
        for name in os.listdir(trees) if trees.exists() else ():
            process = name.partition("-")[0]
            if process.isdecimal() and not process_lives(int(process)):
                shutil.rmtree(trees / name, ignore_errors=True)

    @contextmanager
    def temporary(self) -> Generator[Path]:
        """Give an empty folder; see `drop_left_folders` for what a killed process leaves of it."""
        make_folder(trees := self.folder / "trees")
        own = f"{os.getpid()}-"
        with tempfile.TemporaryDirectory(dir=trees, prefix=own, ignore_cleanup_errors=True) as made:
            yield Path(made)

    def remove(self) -> None:
        """Free its place on the disk."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- trees --------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether a commit or tree is here."""
        try:
            self.git("cat-file", "-e", name)
        except GitFailedError:
            return False
        return True

    def tree_of(self, name: str) -> str:
        """Return the tree of a commit, or of a tree itself."""
        return self.git("rev-parse", "--verify", f"{name}^{{tree}}").decode().strip()

    def entries(self, tree: str, paths: Iterable[str] = ()) -> dict[str, Entry]:
        """Return the files of a tree by their paths: all, or those of these paths and folders."""
        printed = self.git("ls-tree", "-r", "-z", "-l", "--full-tree", tree, "--", *paths)
        return {entry.path: entry for entry in map(_entry, _parts(printed))}

    def data(self, entry: Entry) -> bytes:
        """Return what a file holds, or where a link leads."""
        return b"" if entry.kind == "submodule" else self.git("cat-file", "blob", entry.blob)

    def read(self, tree: str, path: str) -> bytes | None:
        """Return what a file of a tree holds; None where there is no such file."""
        entry = self.entries(tree, (path,)).get(path)
        return (
            None if entry is None or entry.kind not in ("file", "executable") else self.data(entry)
        )

    def with_changes(self, tree: str, changes: Mapping[str, FileData | None]) -> str:
        """Return a tree in which files hold something else; None takes a file away."""
        with self._index(tree) as index:
            stored = {path: self._stored(change) for path, change in changes.items()}
            change_index(self.git, index, stored)
            return self.git("write-tree", index=index).decode().strip()

    def _stored(self, change: FileData | None) -> tuple[str, str] | None:
        """Write what a file is to hold; return git's mode and the blob, None where it goes."""
        if change is None:
            return None
        blob = self.git("hash-object", "-w", "--stdin", stdin=change.data).decode().strip()
        return _MODES["executable" if change.executable else "file"], blob

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """Return the files in which two trees differ, by their paths."""
        printed = self.git("diff-tree", "-r", "-z", "--raw", "--no-abbrev", before, after)
        parts = _parts(printed)
        found: list[FileChange] = []
        for head, path in zip(parts[::2], parts[1::2], strict=True):
            modes = head.removeprefix(b":").decode().split()
            name = path.decode(*_NAMES)
            old, new = (
                Entry(name, _KINDS.get(mode, "file"), blob, -1) if mode != "000000" else None
                for mode, blob in zip(modes[:2], modes[2:4], strict=True)
            )
            found.append(FileChange(name, old, new))
        return tuple(found)

    def ignored(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        """Return which of these paths git ignores by a tree's `.gitignore` files."""
        if not paths:
            return frozenset()
        rules = [
            entry
            for entry in self.entries(tree).values()
            if entry.path.rpartition("/")[2] == ".gitignore"
            and entry.kind in ("file", "executable")
        ]
        with self.temporary() as work:
            for rule in rules:
                file = work / rule.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self.data(rule))
            # From here, so that no name is taken for one of git's patterns.
            asked = b"".join(f"./{path}\0".encode(*_NAMES) for path in paths)
            try:
                printed = self.git(
                    *("check-ignore", "--no-index", "-z", "--stdin"),
                    stdin=asked,
                    work=work,
                    environment={"GIT_LITERAL_PATHSPECS": "0"},
                )
            except GitFailedError as error:
                if error.status == 1:  # None of them is.
                    return frozenset()
                raise
        return frozenset(part.decode(*_NAMES).removeprefix("./") for part in _parts(printed))

    def search(
        self, tree: str, pattern: str, *, literal: bool, paths: Iterable[str] = (), most: int
    ) -> list[FoundLine]:
        """Return lines of text files that have a text, or fit a POSIX extended expression.

        Args:
            paths: Folders or files to look in; all of them where none is named.
            most: Lines of a file that are looked for; of a very long list the end is missing.

        Raises:
            GitFailedError: It is no such expression.
        """
        kind = "-F" if literal else "-E"
        options = ("-n", "-z", "-I", "--no-color", "--full-name", f"-m{most}", kind, "-e", pattern)
        try:
            git = Git(self.folder / "git", seconds=_SEARCH_S)
            printed = git("grep", *options, tree, "--", *paths, most=_FOUND_BYTES)
        except GitFailedError as error:
            if error.status == 1:  # Nothing is found.
                return []
            raise
        found: list[FoundLine] = []
        for line in printed.decode("utf-8", "replace").split("\n"):
            name, _, rest = line.removeprefix(f"{tree}:").partition("\0")
            number, _, text = rest.partition("\0")
            if number.isdecimal() and not is_secret(name):
                found.append(FoundLine(name, int(number), text))
        return found

    @contextmanager
    def checked_out(self, tree: str) -> Generator[Path]:
        """Give a folder with a tree's files, for anybody to read; it goes with its last reader."""
        # A process of its own each: another one that was killed leaves its folder behind.
        folder = self.folder / "trees" / f"{os.getpid()}-{tree}"
        with _making:
            if not _readers[folder]:
                self._check_out(tree, folder)
            _readers[folder] += 1
        try:
            yield folder
        finally:
            with _making:
                _readers[folder] -= 1
                if not _readers[folder]:
                    del _readers[folder]
                    shutil.rmtree(folder, ignore_errors=True)

    def _check_out(self, tree: str, folder: Path) -> None:
        make_folder(folder.parent)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        # Whatever the umask: the sandbox's user reads it, and the folder around it is closed.
        folder.chmod(0o755)
        with self._index(tree) as index:
            # What holds secrets is a part of the tree, and nobody who runs a command sees it.
            names = (
                name.decode(*_NAMES) for name in _parts(self.git("ls-files", "-z", index=index))
            )
            change_index(self.git, index, dict.fromkeys(filter(is_secret, names)))
            git = Git(self.folder / "git", {"checkout.workers": "0"})
            git("checkout-index", "-a", "-q", "-f", index=index, work=folder)

    @contextmanager
    def _index(self, tree: str) -> Generator[Path]:
        with self.temporary() as folder:
            index = folder / "index"
            self.git("read-tree", tree, index=index)
            yield index

    # --- patches ------------------------------------------------------------------------------

    def patch(self, before: str, after: str, most: int | None = LARGEST_PATCH) -> str:
        """Return what makes one tree of another, as a unified diff; "" where nothing does.

        Args:
            most: Bytes that it may have; None for any number.

        Raises:
            PatchTooLargeError: It has more.
        """
        changes = self.changes(before, after)
        binary = [
            change.path
            for change in changes
            if not all(map(self._is_text, filter(None, (change.before, change.after))))
        ]
        options = ("-r", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff")
        more = ("--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
        with self.temporary() as folder:
            # A line of these is no text that a patch could have.
            lines = b"".join(f"{_quoted(path)} -diff\n".encode(*_NAMES) for path in binary)
            (attributes := folder / "attributes").write_bytes(lines)
            settings = {"core.attributesFile": str(attributes), "core.quotePath": "true"}
            if all(_is_utf8(change.path) for change in changes):
                settings["core.quotePath"] = "false"
            git = Git(self.folder / "git", settings)
            printed = git("diff-tree", *options, *more, before, after)
        if most is not None and len(printed) > most:
            raise PatchTooLargeError(
                f"The patch has {len(printed):,} bytes; {most:,} is the most.",
                "Change less, and leave files out that are made from others.",
            )
        return printed.decode("utf-8", "replace")

    def _is_text(self, entry: Entry) -> bool:
        if entry.kind == "submodule":
            return True
        data = self.data(entry)
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return b"\0" not in data

    def applied(self, tree: str, patch: str) -> str:
        """Return the tree that a patch makes of one.

        Raises:
            PatchError: It doesn't fit, or is no patch.
        """
        with self._index(tree) as index:
            options = ("--cached", "--whitespace=nowarn", "--recount", "-p1", "-")
            text = _with_its_end(patch).encode("utf-8", "replace")
            try:
                self.git("apply", *options, index=index, stdin=text)
            except GitFailedError as error:
                said = re.sub(r"^git apply failed: ", "", error.problem)
                raise PatchError(f"The patch can't be applied: {said}") from None
            return self.git("write-tree", index=index).decode().strip()

    # --- commits ------------------------------------------------------------------------------

    def commit(self, tree: str, parents: Sequence[str], message: str, at: int) -> str:
        """Return the commit of a tree; the same arguments always give the same one.

        Args:
            at: Its time, seconds since 1970.
        """
        environment = {
            f"GIT_{role}_{name}": value
            for role in ("AUTHOR", "COMMITTER")
            for name, value in {**_WHO, "DATE": f"@{at} +0000"}.items()
        }
        options = [part for parent in parents for part in ("-p", parent)]
        printed = self.git(
            "commit-tree", tree, *options, stdin=message.encode(), environment=environment
        )
        return printed.decode().strip()

    def contains(self, commit: str, earlier: str) -> bool:
        """Whether a commit has all that an earlier one has."""
        try:
            self.git("merge-base", "--is-ancestor", earlier, commit)
        except GitFailedError as error:
            if error.status == 1:
                return False
            raise
        return True

    def merged(self, ours: str, theirs: str, at: int) -> Merged:
        """Return the commit that has what both have, by a three-way merge."""
        if self.contains(ours, theirs):
            return Merged(ours)
        if self.contains(theirs, ours):
            return Merged(theirs)
        try:
            options = ("--write-tree", "-z", "--name-only", "--no-messages")
            printed = self.git("merge-tree", *options, ours, theirs)
        except GitFailedError as error:
            if error.status != 1:
                raise
            _, *paths = _parts(error.output)
            names = tuple(dict.fromkeys(path.decode("utf-8", "replace") for path in paths))
            return Merged("", names)
        tree = _parts(printed)[0].decode()
        return Merged(self.commit(tree, (ours, theirs), "Merge\n", at))

    def pack(self, commit: str) -> bytes:
        """Return all that a commit without parents needs, for `unpack` elsewhere."""
        return self.git("pack-objects", "--stdout", "--revs", "-q", stdin=f"{commit}\n".encode())

    def keep_packed(self, data: bytes) -> None:
        """Have what `pack` returned in one file in place of many, which takes less to read."""
        self.unpack(data)
        self.git("prune-packed", "-q")

    def unpack(self, data: bytes) -> None:
        """Take what `pack` returned.

        Raises:
            GitFailedError: It isn't whole.
        """
        # Beside the objects, git leaves what it has taken so far where this process is killed.
        with self.temporary() as folder:
            own = folder / "new.pack"
            printed = self.git("index-pack", "--stdin", "--fix-thin", str(own), stdin=data)
            name = f"pack-{printed.decode().split()[-1]}"
            make_folder(packs := self.folder / "git" / "objects" / "pack")
            # Git looks for a pack by its index, which comes last.
            for file in sorted(folder.iterdir(), key=lambda file: file.suffix == ".idx"):
                file.replace(packs / f"{name}{file.suffix}")


def change_index(git: Git, index: Path, changes: Mapping[str, tuple[str, str] | None]) -> None:
    """Give files of an index git's mode and the blob, by their paths; None takes one away.

    What stands in the place of a folder, or the other way round, goes.
    """
    if not changes:
        return
    # What goes makes room first.
    ordered = sorted(changes.items(), key=lambda change: change[1] is not None)
    lines = (f"{mode} {blob}\t{path}\0" for path, new in ordered for mode, blob in [new or _GONE])
    text = "".join(lines).encode(*_NAMES)
    git("update-index", "-z", "--replace", "--index-info", index=index, stdin=text)


def _parts(printed: bytes) -> list[bytes]:
    return [part for part in printed.split(b"\0") if part]


def _entry(line: bytes) -> Entry:
    head, _, path = line.partition(b"\t")
    mode, _, blob, size = head.decode().split()
    kind = _KINDS.get(mode, "file")
    length = int(size) if size.isdecimal() else 0
    return Entry(path.decode(*_NAMES), kind, blob, length)


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)


def _quoted(path: str) -> str:
    """Return a path as a pattern of git's attributes that fits it alone."""
    literal = re.sub(r"([\\*?\[\]!#])", r"\\\1", path)
    escaped = literal.replace("\\", "\\\\").replace('"', '\\"')
    return f'"/{_CONTROL.sub(_as_octal, escaped)}"'


def _with_its_end(patch: str) -> str:
    """Return a patch as git ends it, where who wrote it down has taken blank lines off."""
    last = patch.rpartition("\ndiff --git ")[2]
    end = "\n\n" if "\nGIT binary patch\n" in last else "\n"
    return patch if patch.endswith(end) else patch.removesuffix("\n") + end


def _as_octal(found: re.Match[str]) -> str:
    return f"\\{ord(found[0]):03o}"
