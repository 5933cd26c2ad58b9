"""Going on with an answer that was cut off. Pure."""

from __future__ import annotations

from ...task_ir import OutputKind

__all__ = ["GO_ON", "cut_mark", "joined", "resume_point"]

GO_ON = "Your answer was cut off at its limit. Go on exactly where it stopped; repeat nothing."
_OVERLAP = 400


def resume_point(text: str, kind: OutputKind) -> str:
    """Return what of a text that was cut off is whole: up to its last word, or its last line."""
    end = max(text.rfind("\n"), -1 if kind != "text" else text.rfind(" "))
    return text[: end + 1] if end > len(text) // 2 else text


def joined(begun: str, continued: str) -> str:
    """Return a text and its continuation as one; what the second repeats of the first's end goes.

    A model that goes on says the last words once more, or begins with a blank of its own.
    """
    if begun[-1:].isspace():
        continued = continued.lstrip(" ") if begun[-1] == " " else continued.removeprefix("\n")
    most = min(len(begun), len(continued), _OVERLAP)
    for length in range(most, 11, -1):
        if begun.endswith(continued[:length]):
            return begun + continued[length:]
    return begun + continued


def cut_mark(tokens: int) -> str:
    """Return what is put behind a text that goes on although it is cut off."""
    return f"\n\n[The text was cut off here, after {tokens:,} tokens.]"
