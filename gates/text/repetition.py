"""The `repetition` gate: a text that doesn't repeat itself, as small models' do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Finding, fault

__all__ = ["Repetition", "repeated_text"]

_RUN = 4
"""Times that the same words may follow each other, less one: a chorus says a line three times."""
_LONGEST_PHRASE = 12
_FEWEST_LINES = 6
_SAME_LINES = 0.5


@dataclass(frozen=True)
class Repetition:
    """Empty texts fail too: they say nothing even once."""

    name: str = "repetition"
    about: str = "a text that isn't empty and doesn't repeat itself without end"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Look for a phrase repeated over and over, and for lines that are mostly the same."""
        text = subject.artifact
        if not any(char.isprintable() and not char.isspace() for char in text):
            return fault(Category.FORMAT, "the text is empty")
        if phrase := repeated_text(text):
            return fault(
                Category.FORMAT, f"the text repeats itself: {phrase[:80]!r} again and again"
            )
        return Finding(status="passed")


def repeated_text(text: str) -> str:
    """Return what a text repeats over and over, if it does.

    That is a phrase of at most 12 words 4 times in a row, or a line that is half of at least 6
    lines.
    """
    words = re.findall(r"[^\W_]+", text.casefold())
    for length in range(1, _LONGEST_PHRASE + 1):
        if phrase := _run(words, length):
            return phrase
    lines = [line for line in map(str.strip, text.casefold().splitlines()) if len(line) > 3]
    if len(lines) >= _FEWEST_LINES:
        line, times = Counter(lines).most_common(1)[0]
        if times > 1 and times >= _SAME_LINES * len(lines):
            return line
    return ""


def _run(words: Sequence[str], length: int) -> str:
    same = 0
    for place in range(length, len(words)):
        same = same + 1 if words[place] == words[place - length] else 0
        # One word four times in a row is a manner of speaking ("no, no, no, no"): two rounds more.
        if same >= length * (_RUN - 1) and (length > 1 or same >= _RUN + 1):
            return " ".join(words[place - length + 1 : place + 1])
    return ""
