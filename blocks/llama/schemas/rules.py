"""Rules of a grammar, and text as a grammar writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

__all__ = ["Rules", "char_class", "json_literal", "literal", "repeated", "with_prefix"]

_PRIMITIVES = {
    "ws": r'(" " | "\n" [ \t]{0,20})?',
    "char": r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" code)',
    # Half of a surrogate pair is no character.
    "code": "[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",
    "string": r'"\"" char* "\""',
    "digits": "[0-9]{1,15}",
    "whole": '"0" | [1-9] [0-9]{0,14}',
    "integer": '"-"? whole',
    "part": '("." digits)? ([eE] [-+]? [0-9]{1,2})?',
    "number": '"-"? whole part',
    "pair": 'string ":" ws value',
    "object": '"{" ws (pair ("," ws pair)* ws)? "}"',
    "array": '"[" ws (value ("," ws value)* ws)? "]"',
    "value": 'object | array | string | number | "true" | "false" | "null"',
}
"""JSON without blanks but for those that models write. Control characters in a string are none."""

# What is no name of a rule comes first: strings, classes, comments, bounds and tokens.
_NAMES = re.compile(
    r'"(?:\\.?|[^"\\])*+(?:"|\Z)|\[(?:\\.?|[^\]\\])*+(?:\]|\Z)|#[^\n]*+'
    r"|\{[^}]*+(?:\}|\Z)|<[^>\n]*+>?|([A-Za-z0-9-]+)"
)


class Rules:
    """Rules by name; what is said twice is there once."""

    def __init__(self) -> None:
        self._bodies = dict(_PRIMITIVES)
        self._names = {body: name for name, body in _PRIMITIVES.items()}
        self._count = 0

    def add(self, body: str) -> str:
        """Return the name of a rule that says this."""
        if (known := self._names.get(body)) is None:
            known = self._names[body] = self.reserve()
            self._bodies[known] = body
        return known

    def reserve(self) -> str:
        """Return the name of a rule that is set later, because others lead back to it."""
        self._count += 1
        return f"r{self._count}"

    def set(self, name: str, body: str) -> None:
        """Say what a reserved rule is."""
        self._bodies[name] = body

    @contextmanager
    def all_or_nothing(self) -> Generator[None]:
        """Keep none of the rules that are added inside if an error is raised there."""
        kept = dict(self._bodies), dict(self._names)
        try:
            yield
        except BaseException:
            self._bodies, self._names = kept
            raise

    def grammar(self, root: str, *others: str) -> str:
        """Return the grammar that begins with the expression `root`; `others` are more rules."""
        lines = (f"{name} ::= {body}" for name, body in self._bodies.items())
        return "\n".join([f"root ::= {root}", *lines, *others])


def literal(text: str) -> str:
    """Return text as a grammar writes it: what stands there, letter by letter."""
    return f'"{"".join(map(_in_quotes, text))}"'


def json_literal(value: Any) -> str:
    """Return a value's JSON as a grammar writes it."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair.
        text = json.dumps(value)
    return literal(text)


def char_class(chars: Iterable[str], *, others: bool = False) -> str:
    """Return the class of these characters, or of all `others`."""
    inner = "".join(char if char.isalnum() else f"\\U{ord(char):08X}" for char in sorted(chars))
    return f"[{'^' if others else ''}{inner}]"


def repeated(item: str, least: int, most: int | None) -> str:
    """Return an expression for an item so many times; nothing if it is never."""
    if most == 0:
        return ""
    return f"{item}{{{least},{'' if most is None else most}}}"


def with_prefix(grammar: str, prefix: str) -> str:
    """Return a grammar whose rules have other names, so that it can stand beside another."""
    return _NAMES.sub(lambda found: prefix + found[1] if found[1] else found[0], grammar)


def _in_quotes(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08X}"
