"""The screens that a recording goes through, and how long each stays. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from pictures.asciicast import Cast
from pictures.terminal import Line, Terminal

__all__ = ["Frame", "frames", "shortened"]

_TOGETHER_S = 0.05
"""What is written within this time is one screen: a display that is drawn anew comes in parts."""
_SPINNER = re.compile("[\u2800-\u28ff]")


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, and the second at which it is shown first."""

    at_s: float
    lines: tuple[Line, ...]

    @property
    def still(self) -> tuple[Line, ...]:
        """Its lines without what a spinner shows."""
        return tuple(
            tuple(replace(span, text=_SPINNER.sub("", span.text)) for span in line)
            for line in self.lines
        )


def frames(cast: Cast) -> list[Frame]:
    """Return the screens of a recording, each different from the one before."""
    terminal = Terminal(cast.columns, cast.rows)
    ends = [output.at_s for output in cast.outputs[1:]]
    found: list[Frame] = []
    for output, next_s in zip(cast.outputs, [*ends, float("inf")], strict=True):
        terminal.show(output.text)
        if next_s - output.at_s < _TOGETHER_S:
            continue
        lines = terminal.lines()
        if not found or found[-1].lines != lines:
            found.append(Frame(output.at_s, lines))
    return found


def shortened(shown: Sequence[Frame], longest_s: float) -> list[Frame]:
    """Cut each wait to `longest_s` seconds. While only a spinner turns, it is a wait too."""
    waits = [list(wait) for _, wait in groupby(shown, key=lambda frame: frame.still)]
    played: list[Frame] = []
    cut_s = 0.0
    for wait, after in pairwise([*waits, []]):
        begins_s = wait[0].at_s
        played += [replace(f, at_s=f.at_s - cut_s) for f in _first(wait, begins_s + longest_s)]
        if after:
            cut_s += max(0.0, after[0].at_s - begins_s - longest_s)
    return played


def _first(wait: Sequence[Frame], until_s: float) -> Iterator[Frame]:
    return (frame for frame in wait if frame.at_s < until_s)
