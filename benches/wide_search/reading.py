"""What pages and prompts say: facts, titles, names and rows. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

__all__ = [
    "WORDS",
    "Fact",
    "Title",
    "Wanted",
    "facts_in",
    "lists_in",
    "names_in",
    "read_title",
    "read_wanted",
    "rows_in",
    "titles_in",
    "yearbook_of",
]

_NAME = r"(?P<name>[A-ZÅ]\w+ [A-ZÅ]\w+)"
_TOWN = r"(?P<name>[A-ZÅ]\w+)"
_FACTS: dict[str, tuple[str, ...]] = {
    "founded": (rf"{_NAME} was founded in (?P<value>\d+)\.", rf"{_NAME}: founded (?P<value>\d+),"),
    "town": (rf"{_NAME} stands in (?P<value>\w+)\.",),
    "employees": (
        rf"At the end of (?P<year>\d+), {_NAME} had (?P<value>\d+) employees\.",
        rf"Corrected: at the end of (?P<year>\d+), {_NAME} had (?P<value>\d+) employees,",
        rf"{_NAME}: founded \d+, employees (?P<value>\d+)\.",
    ),
    "tonnes": (rf"In (?P<year>\d+), {_NAME} produced (?P<value>\d+) tonnes\.",),
    "head": (rf"Since (?P<year>\d+) {_NAME} is directed by (?P<value>\w+ \w+)\.",),
    "born": (rf"{_NAME} was born in (?P<value>\d+) in \w+\.",),
    "birthplace": (rf"{_NAME} was born in \d+ in (?P<value>\w+)\.",),
    "river": (rf"{_TOWN} lies on the (?P<value>\w+)\.",),
    "population": (rf"{_TOWN} had (?P<value>\d+) inhabitants in (?P<year>\d+)\.",),
}
_PATTERNS = [(name, re.compile(form)) for name, forms in _FACTS.items() for form in forms]
_KINDS = {
    "profile": ("founded", "town"),
    "annual report": ("employees", "tonnes"),
    "correction of the annual report": ("employees", "tonnes"),
    "directors,": ("head",),
    "life": ("birthplace", "born"),
    "town guide": ("river",),
    "census": ("population",),
}
"""What one expects on a page by what its title calls it."""
WORDS = {
    "founded": "founded",
    "town": "stands in",
    "employees": "employees at the end of",
    "tonnes": "produced tonnes",
    "head": "directed by",
    "born": "born",
    "birthplace": "born in",
    "river": "lies on",
    "population": "inhabitants",
}
"""The words that are searched for beside a name, where its pages haven't said it."""
_CORRECTED, _YEARBOOK = 0.5, 0.6
"""A correction comes after the report of its year, a yearbook after that."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A value, and the time that it is of; 0 where it has none."""

    name: str
    attribute: str
    value: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Title:
    """What a title says: whose page it is, what one expects there, and of when."""

    page: str
    text: str
    name: str = ""
    attributes: tuple[str, ...] = ()
    at: float = 0.0


@lru_cache(maxsize=20_000)
def facts_in(text: str) -> tuple[Fact, ...]:
    """Return the facts in a page."""
    found: list[Fact] = []
    yearbook = re.search(r"Yearbook (\d+)", text)
    for attribute, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            at = float(groups.get("year") or 0)
            at += _CORRECTED if match[0].startswith("Corrected") else 0
            if yearbook and ": founded" in match[0]:
                at = int(yearbook[1]) + _YEARBOOK
            found.append(Fact(groups["name"], attribute, groups["value"], at))
    return tuple(found)


@lru_cache(maxsize=20_000)
def titles_in(text: str) -> tuple[Title, ...]:
    """Return the titles of a search's result, or the one of a page."""
    return tuple(
        read_title(*found) for found in re.findall(r"^\[(p\d+)\] (.+)$", text, re.MULTILINE)
    )


@lru_cache(maxsize=20_000)
def read_title(page: str, text: str) -> Title:
    """Read a title."""
    name, _, kind = text.partition(": ")
    words, _, year = kind.rpartition(" ")
    if year.isdigit() and words in _KINDS:
        at = int(year) + (_CORRECTED if words.startswith("correction") else 0)
        return Title(page, text, name, _KINDS[words], at)
    return Title(page, text, name if kind else "", _KINDS.get(kind, ()))


@lru_cache(maxsize=20_000)
def names_in(text: str) -> tuple[tuple[str, int, int, tuple[str, ...]], ...]:
    """Return what pages of registers list: of what, the part, of how many parts, the names."""
    return tuple(
        (of, int(part), int(parts), tuple(names.split("; ")))
        for of, part, parts, names in re.findall(
            r"Register of (.+), part (\d+) of (\d+)\n.*?Entered are: (.+?)\.", text, re.DOTALL
        )
    )


def yearbook_of(title: Title, of: str) -> bool:
    """Whether a page is the yearbook of these works."""
    return title.text.startswith("Yearbook") and title.text.endswith(f" of {of}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a prompt asks for.

    Attributes:
        of: What is to be listed, such as "dairies in Ostmark"; "" where names are given.
        names: The names that are given.
        columns: What is wanted of each; none where the names alone are.
        is_row: Whether the answer is one row and no list.
        carried: Rows that are there already, and that the answer begins with.
    """

    of: str = ""
    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    is_row: bool = False
    carried: tuple[Mapping[str, str], ...] = ()


@lru_cache(maxsize=2_000)
def read_wanted(prompt: str) -> Wanted:
    """Read a prompt: the question itself, or what a plan made of it."""
    columns = tuple(_found(r"Columns: name; (.+?)\.", prompt).split("; "))
    columns = tuple(filter(None, columns))
    if of := _found(r"Find all (.+? in \w+)\.", prompt):
        return Wanted(of)
    if name := _found(r"Fill the row of [“\"]?([^”\".]+)[”\"]?\.", prompt):
        return Wanted(names=(name.strip(),), columns=columns, is_row=True)
    rows = tuple(row for text in lists_in(prompt) for row in rows_in(text))
    share = re.search(r"Take part (\d+) of (\d+) of the names", prompt)
    if share:
        names = next((found for text in lists_in(prompt) if (found := _texts(text))), ())
        size = -(-len(names) // int(share[2]))
        begin = size * (int(share[1]) - 1)
        return Wanted(names=names[begin : begin + size], columns=columns, carried=rows)
    if names := _found(r"table of these works: (.+?)\.", prompt):
        return Wanted(names=tuple(names.split("; ")), columns=columns, carried=rows)
    if of := _found(r"table of all (.+? in \w+)\.", prompt):
        return Wanted(of, columns=columns)
    return Wanted(names=tuple(row["name"] for row in rows), columns=columns, carried=rows)


def rows_in(text: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a table in JSON; none where it is something else."""
    value = _json(text)
    elements = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(row for row in elements if isinstance(row, dict) and "name" in row)


def lists_in(text: str) -> list[str]:
    """Return the lists in JSON that a text has, each as it is written."""
    return re.findall(r"\[\s*[\{\"].*?[\}\"]\s*\]", text, re.DOTALL)


def _texts(text: str) -> tuple[str, ...]:
    value = _json(text)
    is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return tuple(cast("list[str]", value)) if is_list else ()


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.DOTALL)
    return match[1] if match else ""
