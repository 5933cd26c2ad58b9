"""Going on with an answer that was cut off. Pure."""

from __future__ import annotations

import re

from ...task_ir import OutputKind

__all__ = ["GO_ON", "cut_mark", "joined", "resume_point"]

GO_ON = "Your answer was cut off at its limit. Go on exactly where it stopped; repeat nothing."
_OVERLAP = 400
_LEAST_OVERLAP = 12
_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)
_OPENED_AGAIN = re.compile(r"\s*```[ \t]*[^\s`][^\n`]*\n")


def resume_point(text: str, kind: OutputKind) -> str:
    """Return what of a text that was cut off is whole: up to its last word, or its last line.

    Whether a word goes on or another one begins, a model that reads the text can't tell.
    """
    end = max(text.rfind("\n"), -1 if kind != "text" else text.rfind(" "))
    return text[: end + 1] if end > len(text) // 2 else text


def joined(begun: str, continued: str) -> str:
    """Return a text and its continuation as one; what the second repeats of the first's end goes.

    A model that goes on says the last words once more, begins with a blank of its own, or opens the
    block of code again that it is in.
    """
    if len(_FENCE.findall(begun)) % 2 and (opened := _OPENED_AGAIN.match(continued)):
        continued = continued[opened.end() :]
    if begun[-1:].isspace():
        continued = continued.lstrip(" ") if begun[-1] == " " else continued.removeprefix("\n")
    most = min(len(begun), len(continued), _OVERLAP)
    for length in range(most, _LEAST_OVERLAP - 1, -1):
        if begun.endswith(continued[:length]):
            return begun + continued[length:]
    return begun + continued


def cut_mark(tokens: int) -> str:
    """Return what is put behind a text that goes on although it is cut off."""
    return f"\n\n[The text was cut off here, after {tokens:,} tokens.]"
