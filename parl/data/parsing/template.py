r"""Parse templates: text with slots, alternatives and lists.

`{x}`, `{x.field}`, `{x#}`, `{x|filter|filter}`; `<a|b|>`; `{x: text for each {x}|filter}`. A
backslash makes the next character a plain one; `\n` is a line break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Alternatives", "Node", "Template", "TemplateError", "TemplateSlot", "parse_template"]


class TemplateError(ValueError):
    """A template or its line breaks a rule; the message says which."""


@dataclass(frozen=True, slots=True)
class TemplateSlot:
    """A slot for a variable's value.

    Attributes:
        field: The record's field, or "" for the entry itself.
        number: Whether it is the entry's number, from 1, instead of the entry.
        body: The template for each entry, or None for the entry itself.
    """

    name: str
    field: str = ""
    number: bool = False
    body: Template | None = None
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives; one of them is chosen at random."""

    options: tuple[Template, ...]


Node = str | TemplateSlot | Alternatives
Template = tuple[Node, ...]


def parse_template(text: str) -> Template:
    """Parse a template.

    Raises:
        TemplateError: A bracket isn't closed, or contains neither a slot nor alternatives.
    """
    return _Parser(text).read_until("")


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SLOT = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:\.(?P<field>[a-z0-9_]+)|(?P<number>#))?")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_until(self, stops: str) -> Template:
        """Read up to one of the characters in `stops`, or to the end if it is empty."""
        nodes: list[Node] = []
        plain = ""
        while self._at < len(self._text) and self._text[self._at] not in stops:
            character = self._text[self._at]
            self._at += 1
            if character in "<{":
                nodes += [plain] * bool(plain)
                nodes.append(self._read_alternatives() if character == "<" else self._read_slot())
                plain = ""
            else:
                plain += self._read_escape() if character == "\\" else character
        return (*nodes, *[plain] * bool(plain))

    def _read_escape(self) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        return "\n" if character == "n" else character

    def _read_alternatives(self) -> Alternatives:
        start = self._at
        options = [self.read_until("|>")]
        while self._take("|"):
            options.append(self.read_until("|>"))
        excerpt = f"`<{self._text[start : start + 30]}`"
        if not self._take(">"):
            raise TemplateError(rf"{excerpt} isn't closed (`\<` is the plain character)")
        if len(options) == 1:
            raise TemplateError(
                rf"{excerpt} has only one alternative (`\<` is the plain character)"
            )
        return Alternatives(tuple(options))

    def _read_slot(self) -> TemplateSlot:
        start = self._at
        match = _SLOT.match(self._text, self._at)
        excerpt = f"`{{{self._text[start : start + 30]}`"
        if match is None:
            raise TemplateError(rf"{excerpt} is not a slot (`\{{` is the plain character)")
        self._at = match.end()
        body = self.read_until("|}") if self._take(": ") else None
        filters: list[str] = []
        while self._take("|"):
            name = _NAME.match(self._text, self._at)
            if name is None:
                raise TemplateError(f"{excerpt} has no filter's name after `|`")
            filters.append(name[0])
            self._at = name.end()
        if not self._take("}"):
            raise TemplateError(f"{excerpt} isn't closed")
        return TemplateSlot(
            match["name"], match["field"] or "", bool(match["number"]), body, tuple(filters)
        )

    def _take(self, expected: str) -> bool:
        found = self._text.startswith(expected, self._at)
        self._at += len(expected) if found else 0
        return found
