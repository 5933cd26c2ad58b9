"""Which paths a patch may have, and which of them are tests. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

__all__ = ["first_names", "is_secret", "is_test", "is_within", "path_problem", "pattern_problem"]

_LONGEST = 1_000
_PATTERN = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SECRET = re.compile(r"\.env(?:\.[^/]{1,40})?|\.netrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)")
_SAMPLE = re.compile(r"\.env\.(?:example|sample|template|dist|test)")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec"})
_TEST_FILE = re.compile(
    r"test_[^/]*\.pyi?|[^/]*_test\.(?:py|go|rb|exs?|cc|cpp|dart)|conftest\.py"
    r"|[^/]*[._-](?:test|spec)\.[cm]?[jt]sx?|[^/]*Tests?\.(?:java|kt|cs|swift)"
)


def path_problem(path: str) -> str:
    """Say why a subagent may not have a file of that path; "" if it may."""
    parts = path.split("/")
    if not path or len(path) > _LONGEST:
        return "it is empty or too long"
    if path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        return "it isn't a plain path below the workspace, such as src/module.py"
    if _CONTROL.search(path) or "\\" in path:
        return "it has a character that no path here may have"
    if any(part.lower() == ".git" for part in parts):
        return ".git is git's own"
    return "a file of that name holds secrets" if is_secret(path) else ""


def is_secret(path: str) -> bool:
    """Say whether a file holds secrets by its name, such as `.env`."""
    name = path.rpartition("/")[2]
    return bool(_SECRET.fullmatch(name)) and not _SAMPLE.fullmatch(name)


def pattern_problem(pattern: str) -> str:
    """Say why a text is no pattern of paths; "" if it is: `src/**`, `*.md`, `docs/*.txt`."""
    if not pattern.strip() or len(pattern) > _PATTERN:
        return f"a pattern of paths has 1 to {_PATTERN} characters"
    if pattern.startswith(("/", "!")) or ".." in pattern.split("/"):
        return f"{pattern!r} isn't a pattern of paths below the workspace, such as src/**"
    if pattern.count("*") > 10:
        return f"{pattern!r} has more than 10 stars"
    return ""


def is_within(path: str, patterns: Iterable[str]) -> bool:
    """Say whether a path is one that a pattern names.

    `*` and `?` are within a folder, `**` over any number of them; a pattern without a slash is for
    the file's name in any folder, and a folder's name stands for all that is in it.
    """
    parts = path.split("/")
    return any(_fits(parts, _segments(pattern)) for pattern in patterns)


_Segment = re.Pattern[str] | None
"""What a folder's or file's name is to fit; None for any number of them."""


@lru_cache(maxsize=512)
def _segments(pattern: str) -> tuple[_Segment, ...]:
    parts = pattern.removeprefix("./").removesuffix("/").split("/")
    if len(parts) == 1 and parts[0] != "**":
        parts = ["**", *parts]
    # Behind a folder's name comes anything or nothing, behind its stars at least a name.
    parts = [*parts[:-1], "*", "**"] if parts[-1] == "**" else [*parts, "**"]
    return tuple(None if part == "**" else _segment(part) for part in parts)


def _segment(part: str) -> re.Pattern[str]:
    # Its expressions have no time that grows with the power of the stars.
    return re.compile(fnmatch.translate(part.replace("[", "[[]")))


def _fits(parts: Sequence[str], segments: Sequence[_Segment]) -> bool:
    """Match names, each `None` first with as few of them as can be: none is looked at twice."""
    at = number = 0
    retry: tuple[int, int] | None = None
    while at < len(parts):
        segment = segments[number] if number < len(segments) else _NOTHING
        if segment is None:
            number += 1
            retry = at, number
        elif segment.match(parts[at]):
            at, number = at + 1, number + 1
        elif retry is None:
            return False
        else:
            at, number = retry[0] + 1, retry[1]
            retry = at, number
    return all(segment is None for segment in segments[number:])


_NOTHING = re.compile(r"(?!)")


def first_names(names: Sequence[str], most: int) -> str:
    """Name the first of some paths, and count the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def is_test(path: str) -> bool:
    """Say whether a file is a project's test, or what its tests work with."""
    *folders, name = path.split("/")
    return bool(_TEST_FOLDERS.intersection(folders)) or bool(_TEST_FILE.fullmatch(name))
