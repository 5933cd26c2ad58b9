"""A terminal's output over time, as asciicast v2: a head and an event a line, each JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cast", "Output", "written_cast"]


@dataclass(frozen=True, slots=True)
class Output:
    """What was written to the terminal at once, `at_s` seconds after the beginning."""

    at_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Cast:
    """A recording; `columns` and `rows` are the terminal's size in characters."""

    columns: int
    rows: int
    outputs: Sequence[Output]


def written_cast(cast: Cast) -> str:
    """Write a recording as the text of an asciicast file."""
    head = {"version": 2, "width": cast.columns, "height": cast.rows}
    events = [[round(output.at_s, 3), "o", output.text] for output in cast.outputs]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *events))
