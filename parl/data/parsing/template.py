r"""Templates: text with slots, alternatives and lists.

`{x}`, `{x.field}`, `{x#}`, `{x|filter|filter}`; `<a|b|>`; `{x: text for each {x}|filter}`. A
backslash makes the next sign a plain one; `\n` is a line break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Alternatives", "Node", "Template", "TemplateError", "TemplateSlot", "parse_template"]


class TemplateError(ValueError):
    """A template, or the line that holds it, breaks a rule; the text says which."""


@dataclass(frozen=True, slots=True)
class TemplateSlot:
    """A place for a variable's value.

    Attributes:
        field: The record's field, or "" for the entry itself.
        number: Whether it is the entry's number, from 1, instead of the entry.
        body: What is written for each entry, or None for the entry itself.
    """

    name: str
    field: str = ""
    number: bool = False
    body: Template | None = None
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives, of which one is taken."""

    options: tuple[Template, ...]


Node = str | TemplateSlot | Alternatives
Template = tuple[Node, ...]


def parse_template(text: str) -> Template:
    """Parse a template.

    Raises:
        TemplateError: A bracket isn't closed, or what it holds is no slot and no alternatives.
    """
    return _Parser(text).sequence("")


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SLOT = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:\.(?P<field>[a-z0-9_]+)|(?P<number>#))?")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def sequence(self, stops: str) -> Template:
        """Read up to one of the signs in `stops`, or to the end where there are none."""
        nodes: list[Node] = []
        plain = ""
        while self._at < len(self._text) and self._text[self._at] not in stops:
            sign = self._text[self._at]
            self._at += 1
            if sign in "<{":
                nodes += [plain] * bool(plain)
                nodes.append(self._choice() if sign == "<" else self._slot())
                plain = ""
            else:
                plain += self._escaped() if sign == "\\" else sign
        return (*nodes, *[plain] * bool(plain))

    def _escaped(self) -> str:
        sign = self._text[self._at : self._at + 1]
        self._at += 1
        return "\n" if sign == "n" else sign

    def _choice(self) -> Alternatives:
        start = self._at
        options = [self.sequence("|>")]
        while self._take("|"):
            options.append(self.sequence("|>"))
        seen = f"`<{self._text[start : start + 30]}`"
        if not self._take(">"):
            raise TemplateError(rf"{seen} isn't closed (`\<` is the plain sign)")
        if len(options) == 1:
            raise TemplateError(rf"{seen} has only one alternative (`\<` is the plain sign)")
        return Alternatives(tuple(options))

    def _slot(self) -> TemplateSlot:
        start = self._at
        match = _SLOT.match(self._text, self._at)
        seen = f"`{{{self._text[start : start + 30]}`"
        if match is None:
            raise TemplateError(rf"{seen} is no slot (`\{{` is the plain sign)")
        self._at = match.end()
        body = self.sequence("|}") if self._take(": ") else None
        filters: list[str] = []
        while self._take("|"):
            name = _NAME.match(self._text, self._at)
            if name is None:
                raise TemplateError(f"{seen} has no filter's name after `|`")
            filters.append(name[0])
            self._at = name.end()
        if not self._take("}"):
            raise TemplateError(f"{seen} isn't closed")
        return TemplateSlot(
            match["name"], match["field"] or "", bool(match["number"]), body, tuple(filters)
        )

    def _take(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += len(sign) if found else 0
        return found
