"""A page about a run as data, for whoever draws it: Markdown, HTML or a terminal. Pure.

All texts are as they are: who draws a page bounds nothing, and takes their power over it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Block",
    "Bullets",
    "Drawing",
    "Figure",
    "Figures",
    "Page",
    "Paragraph",
    "Quoted",
    "Ref",
    "Section",
    "Strong",
    "Table",
    "Text",
    "words_of",
]


@dataclass(frozen=True, slots=True)
class Ref:
    """A link to another page of the same run: `answer`, `plan`, `timeline` or a step's id."""

    page: str
    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    text: str


Text = str | Ref | Strong


def words_of(texts: Sequence[Text]) -> str:
    """Return some words as plain text: without what stands out, and where links lead."""
    return "".join(text if isinstance(text, str) else text.text for text in texts)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some words, one after another."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; each line is some words."""

    lines: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. What a reader needs first stands left; what may be long stands right.

    Attributes:
        more: How many rows were left out.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with what it means, in a line."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures, a line each."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text as somebody wrote it, with all its lines.

    Attributes:
        language: What it is written in: `markdown` is drawn as such where that is safe, `diff`,
            `python`, `json` and the like are coloured where they can be; "" is plain text.
        left_out: Characters that were left out at its end.
    """

    text: str
    language: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn from the run itself: its graph, its timeline, or what steps cost.

    Attributes:
        says: The same in words, for whoever can't see it.
    """

    kind: Literal["graph", "timeline", "costs"]
    says: str


Block = Paragraph | Bullets | Table | Figures | Quoted | Drawing


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page; `folded` if it opens only on demand where that can be."""

    title: str
    blocks: Sequence[Block]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `name` is what a `Ref` calls it; `lead` stands before the sections."""

    name: str
    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
