"""What inputs are called in prompts and plans, and which of them a step names. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import PurePath

from ..text import one_line

__all__ = ["MAX_NAME", "input_names", "name_problem", "named_problem"]


MAX_NAME = 80
"""Characters of a name: no more are read where a text cites it."""

# Brackets and commas end a name where a text cites it; control characters and those that set the
# direction of writing would change how it is shown.
_UNSAFE = re.compile(
    r"[\[\],\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_STEP = re.compile(r"S[1-9][0-9]*+")


def name_problem(name: str) -> str:
    """Say why something can't be an input's name, for behind the name; "" if it can."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters, and {MAX_NAME} are the most"
    if unsafe := _UNSAFE.search(name):
        return f"has {unsafe[0]!r} in it"
    if name.startswith("/") or ".." in PurePath(name).parts:
        return "leads out of a folder"
    return "is what a step may be called" if _STEP.fullmatch(name) else ""


def input_names(paths: Sequence[PurePath]) -> list[str]:
    """Return a name for each path: the file's, with its folders where several have that name.

    Args:
        paths: Absolute paths, none of them twice.

    Returns:
        Names that `name_problem` finds nothing wrong with, none of them twice.
    """
    taken: set[str] = set()
    names: list[str] = []
    for name in map(_safe, _distinct(paths)):
        free = name
        number = 2
        while free in taken:
            mark = f" ({number})"
            free = f"{name[: MAX_NAME - len(mark)].rstrip()}{mark}"
            number += 1
        taken.add(free)
        names.append(free)
    return names


def _distinct(paths: Sequence[PurePath]) -> list[str]:
    """Write each path with as many of its last parts as tell it from all others."""
    depth = [1] * len(paths)
    while True:
        names = [_last(path, count) for path, count in zip(paths, depth, strict=True)]
        again = [
            n
            for n, name in enumerate(names)
            if names.count(name) > 1 and depth[n] < len(_parts(paths[n]))
        ]
        if not again:
            return names
        for n in again:
            depth[n] += 1


def _parts(path: PurePath) -> tuple[str, ...]:
    return tuple(part for part in path.parts if part not in (path.anchor, "..", "."))


def _last(path: PurePath, count: int) -> str:
    return "/".join(_parts(path)[-count:])


def _safe(name: str) -> str:
    # What tells files apart is at the end: the suffix, and the name before it.
    cleaned = _UNSAFE.sub("_", name)[-MAX_NAME:].strip().lstrip("/").strip()
    if not cleaned or ".." in PurePath(cleaned).parts:
        return "file"
    return f"file {cleaned}"[:MAX_NAME] if _STEP.fullmatch(cleaned) else cleaned


_SHOWN = 300


def named_problem(names: Sequence[str], known: Collection[str]) -> str:
    """Say what is wrong with the inputs that a step names, for behind its id; "" if nothing is.

    Args:
        names: What the step names.
        known: The inputs that there are.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            return f"names its input {name!r} twice"
        if name not in known:
            others = one_line(", ".join(sorted(known)), _SHOWN)
            has = f"there are {others}" if others else "no inputs are given"
            return f"reads an unknown input {name!r}; {has}"
    return ""
