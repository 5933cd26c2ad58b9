"""Texts in a drawing: what XML allows, as wide as there is room. Pure."""

from __future__ import annotations

import re

from ....text import one_line, visible, width_of

__all__ = ["amount", "finished", "fitted", "harmless", "safe", "seconds"]

# One of these makes a whole drawing unreadable for a browser.
_NOT_IN_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: str, limit: int = 400) -> str:
    """Write a text in one line that may stand in XML, once it is escaped."""
    return _NOT_IN_XML.sub("", one_line(text, limit))


def harmless(text: str) -> str:
    """Take out of a text what may not stand in XML or HTML, and what steers how it is shown."""
    return _NOT_IN_XML.sub("", visible(text))


def finished(value: object) -> object:
    """Return what a template puts into a document: texts are harmless, whatever they come from."""
    return harmless(value) if type(value) is str else value


def fitted(text: str, room: int) -> str:
    """Cut a text to the room that `room` Latin letters take."""
    line = safe(text, room + 1)
    if width_of(line) <= room:
        return line
    while line and width_of(line) > room - 1:
        line = line[:-1]
    return f"{line.rstrip('… ')}…"


def seconds(value: float) -> str:
    """Write seconds as short as a label has to be: 0.4 s, 12 s, 2:05, 1:02:05."""
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def amount(count: float) -> str:
    """Write a count in few characters: 950, 12.3k, 4.1M."""
    if count < 1000:
        return f"{count:.0f}"
    if count < 999_500:
        return f"{count / 1000:.3g}k"
    return f"{count / 1e6:.3g}M"
