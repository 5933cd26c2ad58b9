"""Text of an answer that may go on to its reader before the answer is complete."""

from __future__ import annotations

import re

from .parse import ParsedAnswer

__all__ = ["HeldText"]

_MARKS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "```")
_BEGUN = re.compile("|".join([*map(re.escape, _MARKS), r"^[ \t]*[{\[]"]), re.M)


class HeldText:
    """Lets text through until a call of a tool may have begun; from there all of it is held.

    A call may begin with a mark anywhere, or with a bracket at the beginning of a line. What is
    held is parsed when the answer has ended.
    """

    def __init__(self) -> None:
        self._text = ""
        self._released = 0
        self._holding = False

    def add(self, piece: str) -> str:
        """Append, and return what may go on now."""
        self._text += piece
        if self._holding:
            return ""
        if found := _BEGUN.search(self._text, self._released):
            self._holding = True
            end = found.start()
        else:
            end = len(self._text) - self._may_begin()
        # Space before a call is no text of the answer.
        end = max(self._released, len(self._text[:end].rstrip()))
        fresh, self._released = self._text[self._released : end], end
        return fresh

    def rest(self, parsed: ParsedAnswer) -> str:
        """Return what of the ended answer's text has not gone on yet."""
        released = self._text[: self._released]
        return parsed.text.removeprefix(released if not parsed.calls else released.lstrip())

    def _may_begin(self) -> int:
        """How many of the last characters may be the beginning of a mark."""
        return max(
            size for mark in _MARKS for size in range(len(mark)) if self._text.endswith(mark[:size])
        )
