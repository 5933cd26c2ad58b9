"""The commands of `prefect-swarm` that a page names, wherever it does, and what is wrong with them.

Pure: the commands there are, are handed in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from docs_pages import FENCE

__all__ = ["Named", "named_commands", "problem_of"]

_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_COMMAND = re.compile(r"(?<![\w.-])(?<!install )prefect-swarm (?=[\w\[-])([^`\n]*)")
_ENDS = ("|", "<", ">", "&", ";", "#", "(")
_AROUND = "[](),.;:…"
_ANY_COMMAND = "COMMAND"


@dataclass(frozen=True, slots=True)
class Named:
    """A command that a page names: its line there, and its words behind `prefect-swarm`."""

    line: int
    words: tuple[str, ...]


def named_commands(text: str, short: Collection[str] = ()) -> list[Named]:
    """Return the commands in a page's blocks, and in the code of its sentences and tables.

    Args:
        text: The page's.
        short: Commands that sentences may name without the program, where an option follows.
    """
    blocks = [(match.start(), match[0]) for match in FENCE.finditer(text)]
    prose = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    spans = [(match.start(2), _whole(match[2], short)) for match in _SPAN.finditer(prose)]
    return [
        Named(text.count("\n", 0, start + offset) + 1, words)
        for start, code in [*blocks, *spans]
        for offset, words in _in_code(code)
    ]


def _whole(span: str, short: Collection[str]) -> str:
    """Return a span of code in a line, with the program's name where it is left out."""
    line = span.replace("\n", " ")
    is_short = line.partition(" ")[0] in short and " --" in line
    return f"prefect-swarm {line}" if is_short else line


def _in_code(code: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield where each command begins in a piece of code, with its words."""
    for match in _COMMAND.finditer(code.replace("\\\n", "  ")):
        yield match.start(), tuple(_words(match[1]))


def _words(text: str) -> Iterator[str]:
    try:
        parts = shlex.split(text, comments=True)
    except ValueError:
        parts = text.split()
    for part in parts:
        if part.startswith(_ENDS):
            return
        if word := part.strip(_AROUND):
            yield word
        if part.endswith(";"):
            return


def problem_of(words: tuple[str, ...], command: Any) -> str | None:
    """Return what is wrong with a command's name, or with the names of its options.

    Args:
        words: The command's, behind the program's name.
        command: The group of all commands, as typer makes it.
    """
    rest = list(words)
    while getattr(command, "commands", None) and rest:
        if rest[0].startswith("-") or rest[0] == _ANY_COMMAND:
            break
        # The group says itself what it takes for a command: `persona NAME` is `persona show NAME`.
        context = command.context_class(command, resilient_parsing=True)
        _, found, left = command.resolve_command(context, rest)
        if found is None:
            return f"{rest[0]} is not a command"
        command, rest = found, left
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
    unknown = sorted(given - known - {"--help"})
    return f"it has no option {', '.join(unknown)}" if unknown else None
