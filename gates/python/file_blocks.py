"""Several files in one text: each in a block of its own, its path on the line before. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..result import Diagnostic

__all__ = ["FileBlock", "FileBlocks", "file_blocks", "path_problem"]

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_LABEL = re.compile(
    r"^(?:[#>*+-]+\s+|\d+[.)]\s+)?(?:(?:file(?:name)?|path)\s*:\s*)?", re.IGNORECASE
)
_BARE = frozenset({"Makefile", "Dockerfile", "LICENSE", "Procfile", "Justfile"})
_PART = re.compile(r"[\w.@+-]{1,100}")
_MARKS = "*`\"' "
_DEEPEST, _LONGEST = 12, 200


class FileBlock(NamedTuple):
    """A file: its text, and the line of the whole text that is just before its first one."""

    path: str
    text: str
    before: int


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The files that a text holds, and what is wrong with the rest of it."""

    files: tuple[FileBlock, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


class _Block(NamedTuple):
    language: str
    above: str
    line: int
    body: Sequence[str]
    closed: bool


def file_blocks(text: str) -> FileBlocks:
    """Take the files out of a text.

    A block without a path is an illustration, unless it holds Python. The path may stand in
    backquotes, in bold, in a heading or behind `File:`, and an empty line may follow it.
    """
    files: dict[str, FileBlock] = {}
    problems: list[Diagnostic] = []
    for block in _blocks(text.replace("\r\n", "\n").split("\n")):
        path = _path(block.above)
        problem = _problem(block, path, files)
        if problem:
            problems.append(Diagnostic(message=problem, line=block.line))
        elif path is not None:
            body = "".join(f"{line}\n" for line in block.body)
            files[path] = FileBlock(path, body, block.line)
    if not files and not problems:
        problems.append(Diagnostic(message="there is no file in it: no block with a path above it"))
    return FileBlocks(tuple(files.values()), tuple(problems))


def path_problem(path: str) -> str:
    """Say why a path can't be a file's below a folder; nothing if it can."""
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path) or "\\" in path:
        return "is not relative, with / between its parts"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a part that is empty, '.' or '..'"
    if len(parts) > _DEEPEST or len(path) > _LONGEST:
        return "is too long"
    if not all(_PART.fullmatch(part) for part in parts):
        return "has other characters than letters, digits and ._@+-"
    return ""


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        fence = opening["fence"]
        end = at + 1
        while end < len(lines) and not _closes(lines[end], fence):
            end += 1
        language = opening["info"].strip().partition(" ")[0].lower()
        above = next((line for line in reversed(lines[max(0, at - 2) : at]) if line.strip()), "")
        yield _Block(language, above, at + 1, lines[at + 1 : end], end < len(lines))
        at = end + 1


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _path(above: str) -> str | None:
    """Return the path that a line names, if that is all it does."""
    label = _LABEL.match(above.strip())
    rest = above.strip()[label.end() if label else 0 :]
    words = rest.strip(_MARKS).removesuffix(":").strip(_MARKS)
    if not words or any(sign.isspace() for sign in words) or words.endswith((".", "/")):
        return None
    named = "/" in words or "\\" in words or "." in words or words in _BARE
    return words if named else None


def _problem(block: _Block, path: str | None, files: dict[str, FileBlock]) -> str:
    if path is None:
        python = block.language in ("python", "py", "python3")
        return "this block of Python has no path on the line before it" if python else ""
    if why := path_problem(path):
        return f"the path {path[:_LONGEST]!r} {why}"
    if path in files:
        return f"the file {path} is there twice"
    if any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in files):
        return f"{path} would have to be a file and a folder at once"
    return "" if block.closed else f"the block of {path} has no end"
