"""The items that a step is done for: found in outputs and inputs, chosen, told apart. Pure.

docs/reference/plan_programs.md says what `for_each` means.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, cast

from ..errors import ItemsError
from ..inputs.contents import is_json_lines, kind_of
from ..inputs.pictures import has_pictures
from ..inputs.selection import has_wildcard
from ..text import one_line, plural, whole_characters
from ..untrusted.json_text import NoJsonError, read_json
from .conditions import holds
from .pointers import MISSING, describe_place, kind_of_value, value_at
from .program import ForEach

__all__ = [
    "MOST_ITEMS",
    "Item",
    "ItemSelection",
    "canonical_json",
    "count_items",
    "count_rows",
    "digest_of",
    "file_items",
    "full_text",
    "has_rows",
    "is_pattern",
    "item_of",
    "items_in",
    "key_of",
    "names_matching",
    "pattern_of",
    "rows_of",
    "select_items",
]

MOST_ITEMS = 10_000
"""The most items that anybody may agree to."""
_LABEL = 60
_LOOKED_AT = 1_000
"""Characters of a text of which a label is made."""
_NAMING = ("title", "name", "label", "id", "key", "url", "path", "question")
"""Fields that say which item it is, in the order of preference."""


@dataclass(frozen=True, slots=True)
class Item:
    """One of what a step is done for.

    Attributes:
        value: Its value, as JSON has it; the name of an input that is an item.
        label: A short text in one line, for people.
        trusted: Whether it is written in the plan.
        source: The name of the input that is the item; "" where it isn't one.
    """

    value: Any
    label: str
    trusted: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """Which items a step is done for.

    Attributes:
        items: They, at most `max_items` of them, in their order.
        rest: Those after them: more than `max_items`.
        unmet: How many items `where` didn't hold for.
        repeated: How many items had the key of an earlier one.
        asks: Whether a person decides if `rest` is done as well.
    """

    items: tuple[Item, ...]
    rest: tuple[Item, ...] = ()
    unmet: int = 0
    repeated: int = 0
    asks: bool = False


def item_of(value: Any, *, trusted: bool = False) -> Item:
    """Make a value of JSON an item, with a label for people."""
    return Item(value, _label(value), trusted)


def file_items(names: Iterable[str]) -> list[Item]:
    """Make inputs items, each by its name."""
    return [Item(name, one_line(name, _LABEL), source=name) for name in names]


def _label(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        named = (fields[name] for name in (*_NAMING, *fields) if name in fields)
        value = next((each for each in named if isinstance(each, str) and each.strip()), fields)
    text = value if isinstance(value, str) else _compact(value)
    return one_line(text[:_LOOKED_AT], _LABEL) or kind_of_value(value)


def full_text(item: Item) -> str:
    """Return an item as a text that a prompt may quote: a text as it is, else as indented JSON."""
    if isinstance(item.value, str):
        return whole_characters(item.value)
    return whole_characters(json.dumps(item.value, ensure_ascii=False, indent=2))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_WHOLE_FLOAT = re.compile(r"\.0(?![0-9])|[0-9][eE]")


def canonical_json(value: Any) -> str:
    """Write a value such that equal values, and no others, are the same text.

    Numbers are equal by value, 1.0 and 1; true is no number. The text is ASCII: halves of
    characters are escapes.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    if _WHOLE_FLOAT.search(text):
        exact = json.loads(text, parse_float=_number)
        text = json.dumps(exact, sort_keys=True, separators=(",", ":"))
    return text


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of(item: Item) -> str:
    """Return the SHA-256 of an item's canonical JSON, as 64 hexadecimal digits."""
    return _digest(item.value)


def key_of(value: Any, key: str) -> str | None:
    """Return what tells a value apart from others; None if it has nothing at that pointer.

    Args:
        value: An item's value.
        key: The pointer; "" is the whole value. A null there counts as nothing.

    Raises:
        ValueError: It isn't a pointer.
    """
    found = value_at(value, key)
    return None if found is MISSING or (key and found is None) else _digest(found)


def items_in(text: str, at: str, noun: str = "output") -> list[Any]:
    """Return the elements of a list in a JSON text.

    Args:
        text: The text, such as the output of a step.
        at: A pointer to the list; "" is the whole text.
        noun: What to call it in errors, such as "output of S1".

    Raises:
        ItemsError: It isn't JSON, or there is no list; says what is there instead.
        ValueError: `at` isn't a pointer.
    """
    try:
        value: Any = read_json(text.removeprefix("\ufeff"), halves=True)
    except NoJsonError as error:
        raise ItemsError(
            f"The {noun} is not JSON, so there are no items in it: {error}.",
            "It has to be one JSON document, with nothing before or after it.",
        ) from None
    found = value_at(value, at)
    if isinstance(found, list):
        return cast("list[Any]", found)
    where = f" at {at}" if at else ""
    raise ItemsError(
        f"The {noun} has no list{where}: {describe_place(value, at)}.",
        "Point `at` to the list, or have one written there.",
    )


def rows_of(name: str, text: str, at: str = "") -> list[Any]:
    """Return the items that an input has: rows, elements or lines.

    By the name's end it is CSV, TSV, JSON or JSON Lines; by its beginning where the name says
    nothing. A row of CSV is an object of texts by the names in the first row. A file .csv whose
    first row has no comma may have semicolons or tabs. Blank lines are no rows.

    Args:
        name: The input's name.
        text: Its text.
        at: A pointer to the list, for JSON alone.

    Raises:
        ItemsError: It is none of these, isn't what its name says, or there is no list; says where.
        ValueError: `at` isn't a pointer.
    """
    noun = f"input {name}"
    if has_pictures(text):
        raise ItemsError(f"The {noun} has pictures, and no rows.", "Give one item a file.")
    text = text.removeprefix("\ufeff")
    kind = kind_of(name)
    if kind == "text":
        kind = "JSON" if text.lstrip()[:1] in ("[", "{") else kind
    if kind not in ("CSV", "JSON"):
        raise ItemsError(
            f"The {noun} has no rows: by its name it is neither CSV, TSV, JSON nor JSON Lines.",
            "Give it a name that ends in .csv, .tsv, .json or .jsonl, or one item a file.",
        )
    if kind == "JSON" and not is_json_lines(name):
        return items_in(text, at, noun)
    if at:
        raise ItemsError(f"The {noun} has rows, and nothing in them is at {at}.", "Leave `at` out.")
    return _lines(text, noun) if kind == "JSON" else _rows(text, noun, _delimiter(name, text))


def count_rows(name: str, text: str) -> int:
    """Count the rows that an input has as it stands; 0 if it has none or can't be read."""
    if not has_rows(name, text):
        return 0
    try:
        return len(rows_of(name, text))
    except ItemsError:
        return 0


def has_rows(name: str, text: str) -> bool:
    """Say whether an input has rows by its name and beginning, whether they can be read or not."""
    kind = kind_of(name)
    return kind == "CSV" or is_json_lines(name) or (kind == "JSON" and _begins_list(text))


def _begins_list(text: str) -> bool:
    return text.removeprefix("\ufeff").lstrip()[:1] == "["


def _lines(text: str, noun: str) -> list[Any]:
    found: list[Any] = []
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(read_json(line, halves=True))
        except NoJsonError as error:
            raise ItemsError(
                f"Line {number:,} of the {noun} is not JSON: {error.problem} in column "
                f"{error.column:,}.",
                "Write one JSON document a line.",
            ) from None
    return found


def _delimiter(name: str, text: str) -> str:
    if PurePath(name).suffix.lower() == ".tsv":
        return "\t"
    first = text.lstrip("\r\n").partition("\n")[0]
    outside = "".join(first.split('"')[::2])
    return next((mark for mark in (",", ";", "\t") if mark in outside), ",")


def _rows(text: str, noun: str, delimiter: str) -> list[Any]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[Any] = []
    try:
        for row in reader:
            if not row:
                continue
            if not header:
                header = _header(row, noun)
            elif len(row) == len(header):
                rows.append(dict(zip(header, row, strict=True)))
            else:
                raise ItemsError(
                    f"The row that ends in line {reader.line_num:,} of the {noun} has "
                    f"{plural(len(row), 'field')}, and the first row has {len(header):,}.",
                    "Give each row as many; put a field with a separator or a line break in it "
                    "in quotation marks.",
                )
    except csv.Error as error:
        raise ItemsError(
            f"The {noun} can't be read as rows, in line {reader.line_num:,}: {error}.",
            "Check its quotation marks; give texts of over 131,072 characters as JSON Lines.",
        ) from None
    if not header:
        raise ItemsError(f"The {noun} has no rows: it is blank.", "Give it a first row of names.")
    return rows


def _header(row: list[str], noun: str) -> list[str]:
    names = [name.strip() for name in row]
    earlier = set[str]()
    for number, name in enumerate(names, 1):
        if not name or name in earlier:
            problem = f"the name of an earlier one, {name!r}" if name else "no name"
            raise ItemsError(
                f"Column {number:,} of the {noun} has {problem}.",
                "Give each column a name of its own in the first row.",
            )
        earlier.add(name)
    return names


def is_pattern(items: str) -> bool:
    """Say whether the `items` of a `for_each` is a pattern over the names of inputs."""
    return has_wildcard(items)


def names_matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern such as `*.pdf` matches; capital letters count."""
    return [name for name in names if fnmatchcase(name, pattern)]


def pattern_of(names: Sequence[str], others: Iterable[str]) -> str | None:
    """Return a pattern that fits these names and none of the others; None if none is found.

    It is `*`, one over their common suffix, or one over the folder that all are in.
    """
    rest = [*others]
    suffixes = {PurePath(name).suffix for name in names}
    folders = {name.partition("/")[0] if "/" in name else "" for name in names}
    tried = ["*"]
    tried += [f"*{suffix}" for suffix in suffixes if suffix and len(suffixes) == 1]
    tried += [f"{folder}/*" for folder in folders if folder and len(folders) == 1]
    for pattern in tried:
        if len(names_matching(pattern, names)) == len(names) and not names_matching(pattern, rest):
            return pattern
    return None


def select_items(for_each: ForEach, items: Sequence[Item]) -> ItemSelection:
    """Choose what a step is done for: by `where`, each once, and at most `max_items`.

    Args:
        for_each: What the plan says.
        items: All items, in their order.

    Raises:
        ItemsError: There are more than `max_items` and that is a failure, or more than 10,000
            where a person decides.
    """
    met = [item for item in items if _is_met(for_each, item)]
    chosen: list[Item] = []
    seen = set[str]()
    for item in met:
        key = key_of(item.value, for_each.key)
        if key is None or key not in seen:
            chosen.append(item)
        if key is not None:
            seen.add(key)
    wanted, rest = chosen[: for_each.max_items], chosen[for_each.max_items :]
    asks = bool(rest) and for_each.too_many == "ask"
    if rest and for_each.too_many == "fail":
        raise ItemsError(
            f"There are {plural(len(chosen), 'item')}, and max_items is {for_each.max_items:,}.",
            "Raise `max_items`, narrow `where`, or set `too_many: first`.",
        )
    if asks and len(chosen) > MOST_ITEMS:
        raise ItemsError(
            f"There are {plural(len(chosen), 'item')}, and a step is done for at most "
            f"{MOST_ITEMS:,}.",
            "Narrow `where`, or set `too_many: first`.",
        )
    return ItemSelection(
        tuple(wanted), tuple(rest), len(items) - len(met), len(met) - len(chosen), asks
    )


def count_items(inputs: Mapping[str, str], for_each: ForEach) -> int | None:
    """Count the items that an input has, or inputs are, after `where` and `key`.

    `max_items` isn't looked at. None stands for what the run has to show, or can't be read.
    """
    name = for_each.items
    if not isinstance(name, str):
        return None
    try:
        if name in inputs:
            items = [item_of(value) for value in rows_of(name, inputs[name], for_each.at or "")]
        elif is_pattern(name) and (names := names_matching(name, inputs)):
            items = file_items(names)
        else:
            return None
        selected = select_items(for_each.model_copy(update={"max_items": len(items) or 1}), items)
    except ItemsError:
        return None
    return len(selected.items)


def _is_met(for_each: ForEach, item: Item) -> bool:
    def value_of(step: str | None) -> object:
        return item.value if step is None else MISSING

    return for_each.where is None or holds(for_each.where, value_of)
