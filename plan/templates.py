"""Prompts with places for an item: `{item}`, `{item.title}`, `{index}`, `{round}`. Pure.

docs/reference/plan_programs.md says what is written in each place.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ..text import visible
from .items import Item
from .pointers import (
    MISSING,
    NoPlaceError,
    SchemaPlace,
    pointer_of,
    pointer_problem,
    schema_at,
    value_at,
)

__all__ = [
    "LONGEST_VALUE",
    "WrittenPrompt",
    "fields_in",
    "fields_problem",
    "fixed_text",
    "has_place",
    "in_marks",
    "written",
]

LONGEST_VALUE = 300
"""Characters of a value that stands in a prompt itself; a longer one is quoted below."""
_PLACE = re.compile(r"\{(?:(index|round)|item((?:\.[^{}.\r\n]{1,200}+)*+))\}")
_BREAKS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# A straight one, too: to a model any of them may end a quotation.
_DOUBLE_MARKS = re.compile('["“”„‟«»″‶〝〞〟＂❝❞]')


class WrittenPrompt(NamedTuple):
    """A prompt that is written for an item.

    Attributes:
        prompt: Its text.
        quotes_item: Whether the whole item has to be quoted beside it.
    """

    prompt: str
    quotes_item: bool


def fields_in(prompt: str) -> tuple[str, ...]:
    """Return what a prompt names of an item, each once: `title`, `authors.0`, "" for all of it."""
    found = (place[2] for place in _PLACE.finditer(prompt))
    return tuple(dict.fromkeys(path[1:] for path in found if path is not None))


def fixed_text(prompt: str) -> str:
    """Return what a prompt has for every item: its text without the places."""
    return _PLACE.sub("", prompt)


def has_place(text: str) -> bool:
    """Say whether something would be written into a text if it stood in a prompt."""
    return _PLACE.search(text) is not None


def written(prompt: str, item: Item | None, index: int = 0, round_number: int = 0) -> WrittenPrompt:
    """Write a prompt for an item and a round, each place once; all other braces stay.

    What is in a value is never read as a place: write a prompt once, from its text in the plan.

    Args:
        prompt: The prompt.
        item: The item; None leaves its places, and those of its number, as they are.
        index: The item's number, from 1.
        round_number: The number of the round, from 1; 0 leaves its places as they are.
    """
    is_quoted = item is not None and not item.source and not fields_in(prompt)

    def write(place: re.Match[str]) -> str:
        nonlocal is_quoted
        if place[1] == "round":
            return str(round_number) if round_number else place[0]
        if item is None:
            return place[0]
        if place[1] == "index":
            return str(index)
        path = place[2][1:]
        text = _text_at(item.value, path)
        if text is None:
            return "none"
        if item.trusted:
            return text
        if len(text) <= LONGEST_VALUE and not _BREAKS.search(text):
            return in_marks(text)
        is_quoted = True
        return f"the “{path}” of the item below" if path else "the item below"

    return WrittenPrompt(_PLACE.sub(write, prompt), is_quoted)


def fields_problem(prompt: str, item: SchemaPlace | None) -> str:
    """Say which value a prompt names that no item has; "" if there may be all of them.

    Args:
        prompt: The prompt.
        item: What the schema says of an item; None where it is left open.
    """
    for path in fields_in(prompt) if item else ():
        pointer = _pointer(path)
        try:
            if item and not pointer_problem(pointer):
                schema_at(item, pointer)
        except NoPlaceError as error:
            return f"the prompt names {{item.{path}}}, and in an item {error}"
    return ""


def _pointer(path: str) -> str:
    return pointer_of(path.split(".")) if path else ""


def _text_at(value: Any, path: str) -> str | None:
    pointer = _pointer(path)
    found = MISSING if pointer_problem(pointer) else value_at(value, pointer)
    if found is MISSING or found is None:
        return None
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def in_marks(text: str) -> str:
    """Write a value in quotation marks that nothing in it can close."""
    single = _DOUBLE_MARKS.sub("'", text)
    plain = _CONTROLS.sub("", single.replace("\t", " "))
    return f"“{visible(plain)}”"
