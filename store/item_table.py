"""A table of a run's items: a row each, as CSV or as a frame of pandas or polars."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import READABLE, storage_error, write_atomically
from ..plan.collect import csv_text

__all__ = ["ItemTable"]


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The outputs of a step that was done for items: a row each, and those that failed.

    Attributes:
        columns: `step` and `item`, the fields of the outputs, and `problem`, which says why a row
            has no output. Where the outputs have a field of such a name, it is followed by `_`.
        rows: The values of each row by their columns; what a row lacks isn't in it.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def to_csv(self, path: str | Path) -> None:
        """Write it as CSV in UTF-8, whole or not at all.

        Lists and objects are JSON in their cells. What a spreadsheet would run as a formula has an
        apostrophe before it.

        Raises:
            StorageError: It can't be written.
        """
        place, text = Path(path), csv_text(self.columns, self.rows)
        try:
            write_atomically(place, text, mode=READABLE)
        except OSError as error:
            raise storage_error(place, len(text), error) from None

    def to_pandas(self) -> Any:
        """Return it as a pandas `DataFrame`.

        Raises:
            InputError: pandas is not installed.
        """
        return _module("pandas").DataFrame(self._full_rows(), columns=[*self.columns])

    def to_polars(self) -> Any:
        """Return it as a polars `DataFrame`.

        A column of polars has one type: lists and objects, and what stands beside values of another
        type, are texts as in CSV.

        Raises:
            InputError: polars is not installed.
        """
        columns = {
            name: _of_one_type([row.get(name) for row in self.rows]) for name in self.columns
        }
        return _module("polars").DataFrame(columns)

    def _full_rows(self) -> list[dict[str, Any]]:
        return [{name: row.get(name) for name in self.columns} for row in self.rows]


_LARGEST = 2**63 - 1


def _of_one_type(values: Sequence[Any]) -> list[Any]:
    """Return a column's values as numbers, truth values or texts."""
    kinds: set[Any] = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [value if value is None else float(value) for value in values]
    is_large = kinds == {int} and any(abs(value or 0) > _LARGEST for value in values)
    if len(kinds) <= 1 and not kinds & {dict, list} and not is_large:
        return [*values]
    return [value if value is None or isinstance(value, str) else _json(value) for value in values]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(
            f"{name} is not installed here.", f"Install it (pip install {name}), or use to_csv."
        ) from None
