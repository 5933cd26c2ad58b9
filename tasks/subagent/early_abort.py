"""Whether what a model is writing is certain to fail, so that it needn't write on. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...task_ir import OutputKind

__all__ = ["abort_reason", "watch"]

_ROUNDS = 6
_LONGEST_PHRASE = 12
_LINES, _CODE_LINES = 8, 24
_BLANKS = 200
# `range(range(range(…`: nothing that is asked for goes so deep.
_NESTED = re.compile(r"([\w.]{0,40}[(\[{])\1{23}")
_NESTED_CHARS = 1200
_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w+)", re.MULTILINE)
_OTHERS: Mapping[OutputKind, frozenset[str]] = MappingProxyType(
    {
        "python": frozenset({"javascript", "js", "java", "c", "cpp", "go", "rust", "ruby", "php"}),
        "shell": frozenset({"python", "py", "javascript", "js", "java", "c", "go", "rust"}),
        "json": frozenset({"python", "py", "yaml", "xml", "toml"}),
    }
)


def watch(kind: OutputKind) -> Callable[[str], str]:
    """Return a look at a text so far: why it is certain to fail, empty if it isn't."""
    return lambda text: abort_reason(text, kind)


def abort_reason(text: str, kind: OutputKind) -> str:
    """Say why a text is certain to fail.

    It is if it ends in six rounds of the same words, in eight of the same line (24 of code), in 200
    blanks, if it opens 24 brackets within one another by the same word, or if the first block it
    opens is of another language than is asked for.
    """
    if kind in _OTHERS and (fence := _FENCE.search(text)):
        language = fence[1].lower()
        if language in _OTHERS[kind]:
            return f"{language} instead of {kind}"
    if len(text) - len(text.rstrip()) >= _BLANKS:
        return "blanks without end"
    if nested := _NESTED.search(text[-_NESTED_CHARS:]):
        return f"{nested[1]!r} within itself without end"
    lines = [line for line in map(str.strip, text.splitlines()[:-1]) if len(line) > 3]
    # Data in code may well have the same line some times.
    most = _LINES if kind == "text" else _CODE_LINES
    last = lines[-most:]
    if len(last) == most and len(set(last)) == 1:
        return f"the line {last[0][:60]!r} over and over"
    if kind in ("text", "files") and (phrase := _rounds(text)):
        return f"{phrase[:60]!r} over and over"
    return ""


def _rounds(text: str) -> str:
    """The phrase that a text ends in six times, if it does; the last word may be incomplete."""
    words = text.split()[:-1]
    for length in range(1, _LONGEST_PHRASE + 1):
        end = words[-length * _ROUNDS :]
        if len(end) == length * _ROUNDS and all(
            end[n] == end[n % length] for n in range(length, len(end))
        ):
            return " ".join(end[:length])
    return ""
