"""A terminal's output over time, as asciicast v2: a head and an event a line, each JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cast", "Output", "read_cast", "written_cast"]


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


def read_cast(text: str) -> Cast:
    """Read the text of an asciicast file; events that are no output are left out.

    Raises:
        ValueError: It is of another version.
    """
    head, *events = (json.loads(line) for line in text.split("\n") if line)
    if head["version"] != 2:
        raise ValueError(f"version {head['version']} of asciicast is not read, only version 2")
    outputs = [Output(at_s, text) for at_s, kind, text in events if kind == "o"]
    return Cast(head["width"], head["height"], outputs)
