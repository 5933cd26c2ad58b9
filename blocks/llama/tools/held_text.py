"""Text of an answer that may go on to its reader before the answer is complete."""

from __future__ import annotations

import re

from .parse import ParsedAnswer

__all__ = ["HeldText"]

_MARKS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "```")
_BEGUN = re.compile("|".join([*map(re.escape, _MARKS), r"\n[ \t]*[{\[]"]))
_FIRST = re.compile(r"[ \t]*[{\[]")


class HeldText:
    """Lets text through until a call of a tool may have begun; from there all of it is held.

    A call may begin with a mark anywhere, or with a bracket at the beginning of a line. What is
    held is parsed when the answer has ended. No letter is looked at again with each piece.
    """

    def __init__(self) -> None:
        self._released: list[str] = []
        # What has not gone on: blanks, and behind them what may become a mark.
        self._blanks: list[str] = []
        self._begun = ""
        self._at_line_start = True
        self._holding = False

    def add(self, piece: str) -> str:
        """Append, and return what may go on now."""
        if self._holding:
            return ""
        fresh = self._begun + piece
        found = (self._at_line_start and _FIRST.match(fresh)) or _BEGUN.search(fresh)
        if found:
            self._holding = True
            # Space before a call is no text of the answer.
            return self._release(fresh[: found.start()])
        end = len(fresh) - _may_begin(fresh)
        text, self._begun = fresh[:end], fresh[end:]
        _, is_broken, line = text.rpartition("\n")
        self._at_line_start = bool(is_broken or self._at_line_start) and not line.strip(" \t")
        return self._release(text)

    def _release(self, text: str) -> str:
        """Return a text with the blanks before it, but not those at its end."""
        body = text.rstrip()
        if not body:
            self._blanks.append(text)
            return ""
        ready = "".join([*self._blanks, body])
        self._blanks = [text[len(body) :]]
        self._released.append(ready)
        return ready

    def rest(self, parsed: ParsedAnswer) -> str:
        """Return what of the ended answer's text has not gone on yet."""
        released = "".join(self._released)
        return parsed.text.removeprefix(released if not parsed.calls else released.lstrip())


def _may_begin(text: str) -> int:
    """How many of the last characters may be the beginning of a mark."""
    return max(size for mark in _MARKS for size in range(len(mark)) if text.endswith(mark[:size]))
