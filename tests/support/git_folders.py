"""Folders of users for the tests of workspaces: real repositories of git, and what is in them."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from prefect_swarm.workspace.repository import FileData, Repository

__all__ = ["as_it_lies", "committed", "contents", "git", "made", "tree_with", "write_files"]


def git(folder: Path, *words: str | bytes) -> bytes:
    """Return what git prints in a user's folder, as a user with a name calls it."""
    who = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, check=True
    ).stdout.strip()


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, those of a text in UTF-8."""
    for name, held in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(held.encode() if isinstance(held, str) else held)
    return folder


def committed(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make a repository of git with a commit that has some files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first", "--allow-empty")
    return folder


def as_it_lies(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all that can be told of what is in a folder, `.git` included, without a change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        facts = path.lstat()
        held = ""
        if stat.S_ISLNK(facts.st_mode):
            held = os.readlink(path)
        elif stat.S_ISREG(facts.st_mode):
            held = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path)] = (held, facts.st_mode, facts.st_mtime_ns, facts.st_ino)
    return found


def made(folder: Path) -> Repository:
    """Make the repository of a run."""
    repository = Repository(folder)
    repository.make()
    return repository


def tree_with(repository: Repository, files: Mapping[str, str | bytes | FileData]) -> str:
    """Return a tree that has these files and no others."""
    empty = repository.git("mktree").decode().strip()
    as_data = {
        path: held
        if isinstance(held, FileData)
        else FileData(held.encode() if isinstance(held, str) else held)
        for path, held in files.items()
    }
    return repository.with_changes(empty, as_data)


def contents(repository: Repository, tree: str) -> dict[str, bytes]:
    """Return what each file of a tree holds."""
    return {path: repository.data(entry) for path, entry in repository.entries(tree).items()}
