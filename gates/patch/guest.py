"""Runs in the sandbox: commands over a copy of a tree, and what they changed in it.

It knows nothing of this package, and what it runs can forge what it returns: its reader trusts
nothing.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

_RESULT = "result"
_REPORT = "report.xml"
_NOT_KEPT = frozenset({"__pycache__", ".git", ".hg", ".svn", "node_modules"})
_CACHES = "_cache"


def main() -> None:
    """Do what `job.json` says, and leave what it came to in a file."""
    with open("job.json", encoding="utf-8") as file:
        job: dict[str, Any] = json.load(file)
    here = os.getcwd()
    source = job["shown"] if os.path.isdir(job["shown"]) else job["source"]
    tree = os.path.join(here, "tree")
    shutil.copytree(source, tree, symlinks=True)
    for path, target in job["links"].items():
        place = os.path.join(tree, path)
        if not os.path.lexists(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(target, place)
    # By the path that the user knows the files under, where the sandbox has it.
    place = job["place"] if os.path.realpath(job["place"]) == tree else tree
    results: list[dict[str, Any]] = []
    blobs: list[bytes] = []
    for number, command in enumerate(job["commands"]):
        results.append(_called(command, place, f"{here}/{number}-{_REPORT}", job))
        blobs.append(_read(f"{here}/{number}-{_REPORT}", job["report_bytes"]))
    header: dict[str, Any] = {"results": results}
    if job["changes"]:
        found = _changes(source, tree, job)
        header |= found[0]
        blobs += found[1]
    head = json.dumps({"header": header, "sizes": [len(blob) for blob in blobs]}).encode()
    with open(_RESULT, "wb") as file:
        file.writelines([len(head).to_bytes(8, "big"), head, *blobs])


def _called(command: str, place: str, report: str, job: dict[str, Any]) -> dict[str, Any]:
    """Run a command, and say how it ended and what it printed last."""
    environment = {**os.environ, **job["environment"], "PWD": place}
    if job["reports"]:
        # Project settings come first, and what the command itself names comes last.
        options = f"--junitxml={report} -o junit_family=xunit1"
        environment["PYTEST_ADDOPTS"] = f"{environment.get('PYTEST_ADDOPTS', '')} {options}".strip()
    # Not a pipe: what a command leaves running holds it open, and it may print more than fits here.
    with open(f"{report}.printed", "w+b") as printed:
        process = subprocess.Popen(  # noqa: S603 - in the sandbox
            ["/bin/sh", "-c", command],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        exit_code = process.wait()
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        return {"exit_code": exit_code, "output": _ends(printed, job["characters"])}


def _ends(printed: BinaryIO, most: int) -> str:
    """Return what was printed, without the middle of a long text."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(0)
    if size <= 4 * most:
        text = printed.read().decode("utf-8", "replace")
        if len(text) <= most:
            return text
        first, last = text[: most // 4], text[-(most - most // 4) :]
    else:
        first = printed.read(most).decode("utf-8", "replace")[: most // 4]
        printed.seek(-4 * most, os.SEEK_END)
        last = printed.read().decode("utf-8", "replace")[-(most - most // 4) :]
    return f"{first}\n[…]\n{last}"


def _read(path: str, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError:
        return b""
    return data if len(data) <= most else b""


def _changes(source: str, tree: str, job: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the files that are new, gone or other than before, by their paths."""
    before, after = dict(_files(source, "")), dict(_files(tree, ""))
    changed: dict[str, bool] = {}
    refused: dict[str, str] = {}
    blobs: list[bytes] = []
    room = job["file_bytes"]
    for path, now in after.items():
        old = before.get(path)
        if path in job["links"]:
            continue
        if old is not None and _same(source, tree, path, old, now):
            continue
        if problem := _problem_of(os.path.join(tree, path), now, room):
            refused[path if _is_utf8(path) else ascii(path)] = problem
        elif len(changed) == job["files"]:
            refused[path] = f"more than {job['files']} files are changed"
        else:
            blobs.append(_read(os.path.join(tree, path), room))
            changed[path] = bool(now.st_mode & stat.S_IXUSR)
            room -= len(blobs[-1])
        if len(refused) > job["files"]:
            break
    gone = [path for path in before if path not in after and _is_utf8(path)]
    if len(gone) > job["files"]:
        refused[gone[job["files"]]] = f"more than {job['files']} files are gone"
    return {"changed": changed, "gone": gone[: job["files"]], "refused": refused}, blobs


def _problem_of(path: str, now: os.stat_result, room: int) -> str:
    """Say why a file that is new or other than before can't be handed back; "" if it can."""
    if not _is_utf8(path):
        return "its name is no UTF-8"
    if not stat.S_ISREG(now.st_mode):
        return "it is a link, or no plain file"
    if now.st_size > room:
        return "there is no room for it"
    return "" if os.access(path, os.R_OK) else "it can't be read"


def _same(source: str, tree: str, path: str, old: os.stat_result, new: os.stat_result) -> bool:
    if stat.S_IFMT(old.st_mode) != stat.S_IFMT(new.st_mode):
        return False
    if stat.S_ISLNK(old.st_mode):
        return os.readlink(os.path.join(source, path)) == os.readlink(os.path.join(tree, path))
    if (old.st_mode ^ new.st_mode) & stat.S_IXUSR or old.st_size != new.st_size:
        return False
    # Whatever the times of the files say: a command can set them.
    try:
        return filecmp.cmp(os.path.join(source, path), os.path.join(tree, path), shallow=False)
    except OSError:
        return False


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in path)


def _files(folder: str, below: str) -> Iterator[tuple[str, os.stat_result]]:
    for name in sorted(os.listdir(os.path.join(folder, below))):
        path = f"{below}{name}"
        found = os.lstat(os.path.join(folder, path))
        if stat.S_ISDIR(found.st_mode):
            if name not in _NOT_KEPT and not (name.startswith(".") and name.endswith(_CACHES)):
                yield from _files(folder, f"{path}/")
        else:
            yield path, found


if __name__ == "__main__":
    sys.exit(main())
