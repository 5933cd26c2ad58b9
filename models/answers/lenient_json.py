"""JSON as models write it: read as far as its meaning is certain. Pure."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "FENCE",
    "MOST_WITHIN",
    "FoundJson",
    "JsonProblem",
    "ReadJson",
    "ValueReader",
    "find_json",
    "finite",
    "is_json",
    "read_json",
    "read_values",
]


FENCE = "```"
MOST_WITHIN = 200
"""Brackets within one another that are read."""
_AROUND = 40
"""Characters that an error shows on either side of its place."""

_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|\#[^\n]*)+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_SURPLUS = ("}", "]")
_BEHIND = re.compile(r"\s*([,\]}])")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d"}
_CHUNKS = {end: re.compile(rf"[^{end}\\\x00-\x1f]+") for end in _CLOSING.values()}
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


class JsonProblem(ValueError):  # noqa: N818 - it is a place and what was expected there
    """A text is not JSON: where, what was expected there, and what stands there."""

    def __init__(self, text: str, place: int, expected: str) -> None:
        """Take the text, the place of the first character that doesn't fit, and what would."""
        super().__init__(text, place, expected)
        self.text, self.place, self.expected = text, place, expected

    def __str__(self) -> str:
        """Say it; only then are lines counted, for a reader may try many places."""
        line = self.text.count("\n", 0, self.place) + 1
        column = self.place - self.text.rfind("\n", 0, self.place)
        before = self.text[max(0, self.place - _AROUND) : self.place]
        after = self.text[self.place : self.place + _AROUND]
        found = repr(after) if after else "the end of the text"
        behind = f" behind {before!r}" if before else ""
        return f"line {line}, column {column}: expected {self.expected}, found {found}{behind}"


def finite(number: str) -> float:
    """Return a number that JSON can hold.

    Raises:
        ValueError: It is too large.
    """
    if not math.isfinite(value := float(number)):
        raise ValueError(number)
    return value


class ValueReader:
    """Reads one value from a place on; `place` is where it ended, or failed."""

    def __init__(self, text: str, start: int, *, whole: bool) -> None:
        self.text = text
        self.place: int = start
        self.has_key = False
        self.mended: dict[str, None] = {}
        self._whole = whole
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str] = []

    def read(self) -> Any:
        """Return the value that begins here.

        Raises:
            JsonProblem: It isn't JSON, or has several meanings.
        """
        while True:
            value, opens = self._begin()
            if opens:
                continue
            while self._open:
                self._attach(value)
                if not self._is_closed():
                    break
                value = self._open.pop()
                self._keys.pop()
            else:
                return value

    def _begin(self) -> tuple[Any, bool]:
        """Read a scalar, an empty container, or the beginning of another one."""
        self._skip()
        character = self._peek()
        if character not in "{[" or not character:
            return self._scalar(character), False
        if len(self._open) >= MOST_WITHIN:
            self._fail(f"at most {MOST_WITHIN} brackets within one another")
        self.place += 1
        self._skip()
        made: dict[str, Any] | list[Any] = {} if character == "{" else []
        if self._peek() == ("}" if character == "{" else "]"):
            self.place += 1
            return made, False
        self._open.append(made)
        self._keys.append(self._key() if character == "{" else "")
        return made, True

    def _attach(self, value: Any) -> None:
        container = self._open[-1]
        if isinstance(container, dict):
            container[self._keys[-1]] = value
        else:
            container.append(value)

    def _is_closed(self) -> bool:
        """Read what follows a value: whether the container ends, or its next value begins."""
        is_object = isinstance(self._open[-1], dict)
        end = "}" if is_object else "]"
        before = self.place
        self._skip()
        character = self._peek()
        if character in _SURPLUS and character != end and self._is_surplus(character, end):
            self._mend("a surplus bracket left out")
            # With a bracket missing as well, it has two readings.
            self._whole = False
            self.place += 1
            self._skip()
            character = self._peek()
        if character in (",", "，"):
            self.place += 1
            self._skip()
            while self._peek() == ",":
                self._mend("a surplus comma left out")
                self.place += 1
                self._skip()
            if self._peek() == end:
                self._mend("a trailing comma left out")
                self.place += 1
                return True
        elif character == end:
            self.place += 1
            return True
        elif not character or self.text.startswith(FENCE, self.place):
            if not self._whole:
                self._fail(f'"," or "{end}"')
            self._mend(f'a missing "{end}" added at the end')
            return True
        elif self._begins_another(before, character):
            self._mend("a missing comma added")
        else:
            self._fail(f'"," or "{end}"')
        if is_object:
            self._keys[-1] = self._key()
        return False

    def _is_surplus(self, bracket: str, end: str) -> bool:
        """Say whether a bracket closes nothing: a list goes on behind it, or what is open ends."""
        if bracket == "]" and not any(isinstance(each, list) for each in self._open):
            return True
        behind = _BEHIND.match(self.text, self.place + 1)
        return behind is not None and (behind[1] == end or (behind[1], bracket) == (",", "}"))

    def _begins_another(self, before: int, character: str) -> bool:
        """Say whether only a comma is missing: at the end of a line, or between brackets."""
        if character in "{[":
            return not isinstance(self._open[-1], dict)
        return character == '"' and "\n" in self.text[before : self.place]

    def _key(self) -> str:
        self._skip()
        character = self._peek()
        if character and character in _CLOSING:
            key, is_quoted = self._string(character), True
        elif word := _WORD.match(self.text, self.place):
            key, is_quoted = word[0], False
            self.place = word.end()
        else:
            self._fail('a name in quotation marks, or "}"')
        self._skip()
        if self._peek() not in (":", "："):
            self._fail('":"')
        self.place += 1
        self.has_key = True
        if not is_quoted:
            self._mend("a name put into quotation marks")
        return key

    def _scalar(self, character: str) -> Any:
        if character and character in _CLOSING:
            return self._string(character)
        if number := _NUMBER.match(self.text, self.place):
            try:
                value = finite(number[0]) if number[1] or number[2] else int(number[0])
            except ValueError:
                self._fail("a smaller number, of fewer digits")
            self.place = number.end()
            return value
        word = _WORD.match(self.text, self.place)
        if word is None or word[0] not in _WORDS:
            self._fail("a value: a text in quotation marks, a number, true, false, null, { or [")
        if word[0][0].isupper():
            self._mend(f"{word[0]} written as JSON has it")
        self.place = word.end()
        return _WORDS[word[0]]

    def _string(self, opening: str) -> str:
        end = _CLOSING[opening]
        if opening != '"':
            self._mend("other quotation marks made straight ones")
        chunk, pieces, start = _CHUNKS[end], list[str](), self.place
        self.place += 1
        while True:
            if plain := chunk.match(self.text, self.place):
                pieces.append(plain[0])
                self.place = plain.end()
            character = self._peek()
            if character == end:
                self.place += 1
                return "".join(pieces)
            if not character:
                self.place = len(self.text)
                excerpt = self.text[start : start + 20]
                self._fail(f"{end} at the end of the text that begins with {excerpt}")
            if character == "\\":
                pieces.append(self._escape())
            else:
                self._mend("a raw line break or tab in a text written as JSON has it")
                pieces.append(character)
                self.place += 1

    def _escape(self) -> str:
        character = self.text[self.place + 1 : self.place + 2]
        if character == "u" and (code := _HEX.match(self.text, self.place + 2)):
            self.place += 6
            return self._with_other_half(int(code[0], 16))
        self.place += 2 if character else 1
        if character in _ESCAPED and character:
            return _ESCAPED[character]
        self._mend("a backslash before a character that needs none")
        return character if character == "'" else f"\\{character}"

    def _with_other_half(self, code: int) -> str:
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.place):
            other = _HEX.match(self.text, self.place + 2)
            if other and 0xDC00 <= (low := int(other[0], 16)) < 0xE000:
                self.place += 6
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return chr(code)

    def _skip(self) -> None:
        """Go on to what is neither a blank nor in a comment."""
        while True:
            if blank := _BLANK.match(self.text, self.place):
                self.place = blank.end()
                if "//" in blank[0] or "#" in blank[0]:
                    self._mend("a comment left out")
            if not self.text.startswith("/*", self.place):
                return
            end = self.text.find("*/", self.place + 2)
            if end < 0:
                self._fail("*/ at the end of the comment")
            self._mend("a comment left out")
            self.place = end + 2

    def _peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def _mend(self, what: str) -> None:
        self.mended.setdefault(what)

    def _fail(self, expected: str) -> NoReturn:
        raise JsonProblem(self.text, self.place, expected)


_MOST_LOOKS = 2
"""How often a character is looked at for brackets around a JSON value that begin none."""

_BRACKET = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
# What follows a value and belongs to it: a bracket closed it too soon.
_GOES_ON = re.compile(r"[\s}\]]*,\s*(?=([\"'])[^\"'\n]{0,200}\1\s*:)")


@dataclass(frozen=True, slots=True)
class ReadJson:
    """A value, and what was mended to read it, in words."""

    value: Any
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundJson:
    """An object or a list within a text, from `start` to before `end`."""

    start: int
    end: int
    value: Any
    mended: tuple[str, ...]


def read_json(text: str, *, whole: bool = True) -> ReadJson:
    """Return the value that a text is, or the only object or list in it.

    Args:
        text: What a model wrote.
        whole: Whether the text is known not to be cut off: brackets that are missing at its end are
            added then.

    Raises:
        JsonProblem: There is none, or several, or what it says isn't certain.
    """
    try:
        value = _strictly(text)
    except (ValueError, RecursionError):
        pass
    else:
        if text.count("[") + text.count("{") <= MOST_WITHIN or _is_shallow(text):
            return ReadJson(value)
        # It is nested deeper than what follows can bear.
        raise JsonProblem(text, 0, f"at most {MOST_WITHIN} brackets within one another")
    found, problem = _values(text, whole=whole)
    if problem is not None:
        raise problem
    found = _distinct(found)
    if not found:
        first = len(text) - len(text.lstrip())
        raise JsonProblem(text, first, "a JSON object")
    if len(found) > 1:
        raise JsonProblem(text, found[1].start, "one JSON value and nothing behind it")
    only = found[0]
    return ReadJson(only.value, (*_around(text, only), *only.mended))


def read_values(text: str) -> list[Any]:
    """Return the objects and lists that a text consists of, one behind the other.

    Raises:
        JsonProblem: There is other text between them, or one can't be read.
    """
    found, problem = _values(text, whole=True)
    if problem is not None:
        raise problem
    place = 0
    for each in found:
        if text[place : each.start].strip(" \t\r\n;,"):
            raise JsonProblem(text, place, "JSON and nothing else")
        place = each.end
    if text[place:].strip(" \t\r\n;,}]"):
        raise JsonProblem(text, place, "the end of the text")
    return [each.value for each in found]


def find_json(text: str) -> list[FoundJson]:
    """Return the objects and lists in a text that are JSON as they stand, in their order."""
    found, _ = _values(text, whole=False)
    return [each for each in found if not each.mended]


def _strictly(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse, parse_float=finite)


def is_json(text: str) -> bool:
    """Say whether a text is JSON as Python reads it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        # Not JSON, or a number of thousands of digits, or thousands of brackets.
        return False
    return True


def _is_shallow(text: str) -> bool:
    """Say whether JSON has few brackets within one another."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
            if depth > MOST_WITHIN:
                return False
        elif token[0] in "}]":
            depth -= 1
    return True


def _values(text: str, *, whole: bool) -> tuple[list[FoundJson], JsonProblem | None]:
    """Return the values in a text, and the problem of what begins as one and can't be read."""
    found: list[FoundJson] = []
    place, looked_at = 0, 0
    furthest: JsonProblem | None = None
    while (bracket := _BRACKET.search(text, place)) and looked_at <= _MOST_LOOKS * len(text):
        reader = ValueReader(text, bracket.start(), whole=whole)
        try:
            value = reader.read()
        except JsonProblem as problem:
            if reader.has_key:
                return found, problem
            if furthest is None or problem.place > furthest.place:
                furthest = problem
            place = bracket.start() + 1
            looked_at += problem.place - place
            continue
        place = reader.place
        if goes_on := _GOES_ON.match(text, place):
            return found, JsonProblem(text, goes_on.end(), "the end of the JSON")
        found.append(FoundJson(bracket.start(), place, value, tuple(reader.mended)))
    return found, None if found else furthest


def _distinct(found: list[FoundJson]) -> list[FoundJson]:
    """Leave out empty values among others, lists among objects, and duplicates."""
    full = [each for each in found if each.value] or found[:1]
    objects = [each for each in full if isinstance(each.value, dict)] or full
    first = objects[:1]
    return first + [each for each in objects[1:] if each.value != first[0].value]


def _around(text: str, found: FoundJson) -> list[str]:
    before, after = text[: found.start].strip(), text[found.end :].strip()
    mended: list[str] = []
    if after.startswith(("}", "]")):
        mended.append("a surplus bracket left out")
    rest = before + after.strip("}] \n\t;,")
    if FENCE in rest:
        mended.append("a fence left out")
    if rest.replace(FENCE, "").removeprefix("json").strip("`} ]\n\t;,"):
        mended.append("text around it left out")
    return mended
