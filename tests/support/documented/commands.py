"""The commands of a fenced block, and what stands below each as its output. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from .fences import Fence

__all__ = ["Command", "commands", "plain"]

_PROMPT = "$ "
# A sign in a quotation or in a word begins no comment.
_COMMENT = re.compile(r"""(?P<kept>'[^']*'|"(?:\\.|[^"\\])*"|\\.)|(?<!\S)\#.*""")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is typed.

    Attributes:
        where: Page and line.
        text: The command; several lines where it goes on in the next.
        output: What stands below it in a session; None where the block has commands alone.
    """

    where: str
    text: str
    output: str | None = None


def commands(fence: Fence) -> list[Command]:
    """Return the commands of a block of the language `console` or `sh`.

    Raises:
        ValueError: A session doesn't begin with a prompt.
    """
    if fence.language == "console":
        return list(_session(fence))
    return [
        Command(f"{fence.page}:{fence.line + number}", text)
        for number, text in _joined(fence.text.splitlines())
        if text.strip() and not text.startswith("#")
    ]


def plain(command: str) -> str:
    """Return a command without its comments, its broken lines and its spaces at the ends."""
    joined = command.replace("\\\n", " ")
    lines = _COMMENT.sub(lambda match: match["kept"] or "", joined).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def _session(fence: Fence) -> Iterator[Command]:
    lines = fence.text.splitlines()
    if not lines or not lines[0].startswith(_PROMPT):
        raise ValueError(f"{fence.page}:{fence.line}: a session begins with a prompt.")
    starts = [number for number, line in enumerate(lines) if line.startswith(_PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        typed = [lines[start].removeprefix(_PROMPT), *lines[start + 1 : end]]
        (_, command), *_ = _joined(typed)
        below = typed[command.count("\n") + 1 :]
        yield Command(f"{fence.page}:{fence.line + start}", command, "\n".join(below).strip("\n"))


def _joined(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each command and its first line's number; a quote or a backslash holds it open."""
    held: list[str] = []
    for number, line in enumerate(lines):
        held.append(line)
        if not _is_open("\n".join(held)):
            yield number - len(held) + 1, "\n".join(held)
            held = []
    if held:
        yield len(lines) - len(held), "\n".join(held)


def _is_open(text: str) -> bool:
    if text.endswith("\\"):
        return True
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False
