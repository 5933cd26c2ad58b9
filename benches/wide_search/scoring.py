"""How a table is scored against the right one, as WideSearch scores. Pure.

Rows are matched by their name. An *item* is a cell, the name among them. Precision counts what was
answered, recall what was to be; F1 is their harmonic mean. A row counts if all of its cells are
right. *Success* is a table without a wrong cell, a missing row or one too many.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import Any, Literal, cast

__all__ = ["Column", "Row", "Score", "avg_at", "is_right", "max_at", "read_table", "score_table"]

Row = Mapping[str, str]
Comparison = Literal["exact", "number_near", "in", "date_near"]
NAME = "name"
NEAR = 0.01
"""How far a number may be from the right one, as a share of that."""
DAYS = 31


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and when a cell of it is right.

    Attributes:
        comparison: `exact` but for case and blanks; `number_near`, by at most one in a hundred;
            `in`, one of the values that the right one lists with | between them; `date_near`, at
            most a month from it.
    """

    name: str
    comparison: Comparison = "exact"


@dataclass(frozen=True, slots=True)
class Score:
    """How near a table comes to the right one; each from 0 to 1."""

    row_f1: float
    item_f1: float
    success: float


def is_right(value: str, right: str, comparison: Comparison = "exact") -> bool:
    """Whether a cell is right. What can't be read as a number or a date is compared exactly."""
    value, right = _plain(value), _plain(right)
    if value == right:
        return True
    if comparison == "in":
        return bool(value) and value in map(_plain, right.split("|"))
    if comparison == "number_near":
        number, wanted = _number(value), _number(right)
        if number is not None and wanted is not None:
            return abs(number - wanted) <= NEAR * abs(wanted)
    if comparison == "date_near":
        day, wanted_day = _day(value), _day(right)
        if day is not None and wanted_day is not None:
            return abs((day - wanted_day).days) <= DAYS
    return False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def score_table(answered: Sequence[Row], right: Sequence[Row], columns: Sequence[Column]) -> Score:
    """Score a table; of several rows of one name the first counts, and the others are too many."""
    wanted = {_plain(row[NAME]): row for row in right}
    right_items = right_rows = 0
    taken = set[str]()
    for row in answered:
        name = _plain(row.get(NAME, ""))
        if name not in wanted or name in taken:
            continue
        taken.add(name)
        cells = [
            is_right(row.get(column.name, ""), wanted[name][column.name], column.comparison)
            for column in columns
        ]
        right_items += 1 + sum(cells)
        right_rows += all(cells)
    width = len(columns) + 1
    items = sum(1 + sum(bool(row.get(c.name)) for c in columns) for row in answered)
    row_f1 = _f1(right_rows, len(answered), len(right))
    is_perfect = right_rows == len(answered) == len(right)
    return Score(row_f1, _f1(right_items, items, width * len(right)), float(is_perfect))


def _f1(right: int, answered: int, wanted: int) -> float:
    return 2 * right / (answered + wanted) if answered + wanted else 1.0


def avg_at(scores: Sequence[Score]) -> Score:
    """Return Avg@N: the mean of several trials of one question."""
    return Score(
        fmean(each.row_f1 for each in scores),
        fmean(each.item_f1 for each in scores),
        fmean(each.success for each in scores),
    )


def max_at(scores: Sequence[Score]) -> Score:
    """Return Max@N: the best of several trials, each figure by itself."""
    return Score(
        max(each.row_f1 for each in scores),
        max(each.item_f1 for each in scores),
        max(each.success for each in scores),
    )


def read_table(answer: str) -> list[Row]:
    """Read a table from an answer: JSON objects, in lists or not, or CSV; else there are no rows.

    Of several rows of one name the last counts: it corrects those before.
    """
    try:
        found = [*_objects(json.loads(answer))]
    except ValueError:
        found = [*csv.DictReader(io.StringIO(answer))]
    rows = [
        {name: str(cell) for name, cell in row.items() if isinstance(name, str) and cell}
        for row in found
        if row.get(NAME)
    ]
    return [*{_plain(row[NAME]): row for row in rows}.values()]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _objects(each)
