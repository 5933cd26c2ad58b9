"""What a planner sees of a run's inputs: name, kind, size and first line, never the text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...frozen import Frozen
from ...inputs.contents import InputKind, kind_of
from ...text import one_line, plural
from ..subagent.request import tokens_of

__all__ = ["InputNote", "listing", "notes_of"]

_MOST_LINES = 20
"""Inputs that are listed one by one; a planner can name any of these."""
_MOST_CHARS = 100
"""Characters of an input's first line."""


class InputNote(Frozen):
    """An input as a planner sees it; `tokens` are estimated."""

    name: str
    kind: InputKind
    characters: int
    tokens: int
    begins: str


def notes_of(inputs: Mapping[str, str]) -> tuple[InputNote, ...]:
    """Return what a planner sees of these texts."""
    return tuple(
        InputNote(
            name=name,
            kind=kind_of(name),
            characters=len(text),
            tokens=tokens_of(text),
            begins=one_line(_first_line(text), _MOST_CHARS),
        )
        for name, text in inputs.items()
    )


def listing(notes: Sequence[InputNote]) -> str:
    """Write down which inputs there are, each in a line; "" if there are none."""
    if not notes:
        return ""
    lines = [
        f"- {note.name} ({note.kind}, {plural(note.characters, 'character')}, about "
        f"{plural(note.tokens, 'token')}), begins: {note.begins}"
        for note in notes[:_MOST_LINES]
    ]
    if more := notes[_MOST_LINES:]:
        tokens = sum(note.tokens for note in more)
        lines.append(f"- and {len(more)} more, of about {plural(tokens, 'token')}")
    return "\n".join(["Inputs that are given with it:", *lines])


def _first_line(text: str) -> str:
    # A PDF's first line says which page it is.
    lines = (line for line in text.split("\n") if line.strip() and line != "[page 1]")
    return next(lines, "")
