"""Texts and figures as people are shown them, on a terminal or a page. Pure."""

from __future__ import annotations

import re

__all__ = ["clean", "duration", "one_line", "plural"]

# Models and plan files must not be able to steer the terminal: C0 but tab and newline, DEL, C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Take the control characters out of a text that someone else wrote."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 100) -> str:
    """Write a text in one line of at most `limit` characters."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def duration(seconds: float) -> str:
    """Write seconds as people read them: 3.2 s, 2:05, 1:02:05."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def plural(count: int, noun: str) -> str:
    """Count things: 1 step, 2 steps."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
