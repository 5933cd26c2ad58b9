"""YAML with the lines that its values are in: plain data alone, within bounds. Pure.

What stands without quotes is read as in YAML 1.2: `no`, `on`, `12:30` and `2024-01-01` are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from ..errors import InputError
from ..files import read_text

__all__ = ["Located", "NoYamlError", "plain_value", "read_yaml", "read_yaml_file"]


_LARGEST = 8 << 20
"""Characters; a file of texts that are written as blocks takes a few seconds."""
_MOST_VALUES = 50_000
_DEEPEST = 100
_MOST_DIGITS = 300

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
"""The tag of what has no quotes and no tag, which no document can write."""
_KINDS: dict[str, tuple[type, ...]] = {
    f"{_TAG}null": (type(None),),
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
}
_ALLOWED = frozenset({*_KINDS, f"{_TAG}str", f"{_TAG}seq", f"{_TAG}map"})

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9](?:[0-9]|_(?=[0-9]))*+)")
_OF_BASE = re.compile(r"0x[0-9a-fA-F]++|0o[0-7]++")
_REAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_HALF = re.compile(r"[\ud800-\udfff]")


class NoYamlError(ValueError):
    """Why a text can't be read as YAML, and where; `line` and `column` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem = problem
        self.line = line
        self.column = column


class Located(NamedTuple):
    """What a YAML text has, and the node that it was made of; None for an empty text."""

    value: Any
    node: yaml.Node | None

    def line_of(self, path: Sequence[str | int]) -> int:
        """Return the line, from 1, where what a path leads to begins, or the last on its way."""
        node, line = self.node, _place(self.node)[0] if self.node else 1
        for part in path:
            if (found := _child(node, part)) is None:
                break
            line, node = found
        return line


def read_yaml_file(path: Path, noun: str, advice: str) -> Located:
    """Read the one document of a file; `-` is standard input.

    Args:
        path: The file.
        noun: What to call it in errors.
        advice: What to do about one that isn't YAML.

    Raises:
        InputError: It can't be read, or as `read_yaml` says.
    """
    text = read_text(path, noun)
    try:
        return read_yaml(text)
    except NoYamlError as error:
        raise InputError(f"The {noun} {path} is not valid YAML: {error}.", advice) from None


def read_yaml(text: str) -> Located:
    """Read one document of plain data: texts, numbers, truth values, null, lists and mappings.

    Raises:
        NoYamlError: It is not YAML, has a key twice, has what only other programs can make, refers
            to another place of itself, or is too large or too deep; says where.
    """
    if len(text) > _LARGEST:
        raise NoYamlError(f"it has over {_LARGEST:,} characters: leave some out", 1, 1)
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return Located(None if node is None else _value(node), node)
    except yaml.reader.ReaderError as error:
        raise _unprintable(text, error) from None
    except yaml.MarkedYAMLError as error:
        raise _located(error, text) from None
    except RecursionError:
        raise NoYamlError("it is nested too deeply: make it flatter", 1, 1) from None
    except (ValueError, OverflowError) as error:
        # An escape that stands for no character, for one.
        if isinstance(error, NoYamlError) or loader is None:
            raise
        mark: Any = cast("Any", loader).get_mark()
        problem = "an escape here stands for no character: write the character itself"
        raise NoYamlError(problem, mark.line + 1, mark.column + 1) from None


def plain_value(text: str) -> Any:
    """Return what a text without quotes stands for: null, a truth value, a number, or itself.

    Raises:
        ValueError: It is a number that can't be held; says why.
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _MOST_DIGITS and _is_number(text):
        raise ValueError(f"a number of {len(text):,} digits is too long: quote a text")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OF_BASE.fullmatch(text):
        return int(text, 0)
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text} is not a number that JSON can hold: quote a text")
    if _REAL.fullmatch(text):
        if not math.isfinite(number := float(text)):
            raise ValueError(f"{text} is larger than a number can be: quote a text")
        return number
    return text


def _is_number(text: str) -> bool:
    return any(form.fullmatch(text) for form in (_INTEGER, _OF_BASE, _REAL))


class _Loader(yaml.SafeLoader):
    """Composes nodes: no aliases, no tags but those of plain data, so many values, so deep."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._levels = 0
        self._values = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = cast("Any", self).peek_event()
        name: str = (event.anchor or "")[:60]
        if isinstance(event, yaml.AliasEvent):
            raise _refused(event, f"*{name} repeats another place: write it out, or quote the text")
        if name:
            raise _refused(event, f"&{name} names a place: leave it out, or quote the text")
        tag: str | None = getattr(event, "tag", None)
        if tag is not None and tag not in _ALLOWED:
            shown = tag.replace(_TAG, "!!", 1)
            raise _refused(event, f"the tag {shown[:60]} is for programs: leave it out, or quote")
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _refused(event, f"it has over {_MOST_VALUES:,} values: leave some out")
        self._levels += 1
        if self._levels > _DEEPEST:
            raise _refused(event, f"it is nested over {_DEEPEST} levels deep: make it flatter")
        try:
            return super().compose_node(parent, index)
        finally:
            self._levels -= 1

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:  # noqa: ARG002 - YAML's own
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else f"{_TAG}str"
        return f"{_TAG}seq" if kind is yaml.SequenceNode else f"{_TAG}map"


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        _check_tag(node, "seq")
        return [_value(entry) for entry in node.value]
    _check_tag(node, "map")
    found: dict[str, Any] = {}
    for key, entry in node.value:
        name = _key(key)
        if name in found:
            first = next(earlier for earlier, _ in node.value if earlier.value == name)
            raise NoYamlError(
                f"{name[:60]!r} is there twice, first in line {first.start_mark.line + 1}:"
                " leave one out",
                *_place(key),
            )
        found[name] = _value(entry)
    return found


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if half := _HALF.search(text):
        raise NoYamlError(f"{half[0]!a} is half of a character: leave it out", *_place(node))
    if node.tag == f"{_TAG}str":
        return text
    try:
        value = plain_value(text)
    except ValueError as error:
        raise NoYamlError(str(error), *_place(node)) from None
    wanted = _KINDS.get(node.tag)
    if node.tag != _PLAIN and (wanted is None or type(value) not in wanted):
        kind = node.tag.removeprefix(_TAG)
        raise NoYamlError(
            f"{text[:60]!r} is not of type {kind}: leave out the tag !!{kind}", *_place(node)
        )
    return value


def _key(node: yaml.Node) -> str:
    """Return a key as it is written: JSON, which all this becomes, has texts alone there."""
    if not isinstance(node, yaml.ScalarNode):
        raise NoYamlError("a list or a mapping is not a key: write a text", *_place(node))
    key: str = node.value
    if key == "<<" and node.tag == _PLAIN:
        raise NoYamlError("<< takes over another mapping: write its fields out", *_place(node))
    if half := _HALF.search(key):
        raise NoYamlError(f"{half[0]!a} is half of a character: leave it out", *_place(node))
    return key


def _check_tag(node: yaml.Node, kind: str) -> None:
    if node.tag != f"{_TAG}{kind}":
        raise NoYamlError(
            f"a tag says that it is not of type {kind}: leave the tag out", *_place(node)
        )


def _place(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _child(node: yaml.Node | None, part: str | int) -> tuple[int, yaml.Node] | None:
    """Return the line of a field's key, or of an item, with the node of its value."""
    if isinstance(node, yaml.MappingNode):
        entries = (entry for entry in node.value if entry[0].value == part)
        return next(((_place(key)[0], value) for key, value in entries), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return _place(node.value[part])[0], node.value[part]
    return None


def _refused(event: Any, problem: str) -> NoYamlError:
    return NoYamlError(problem, event.start_mark.line + 1, event.start_mark.column + 1)


_ADVICE = (
    (re.compile(r"'\\t'"), "indent by blanks, not by tabs"),
    (re.compile(r"another document"), "give one document, without a second ---"),
    (re.compile(r"cannot start any token"), "quote the text"),
    (re.compile(r"mapping values are not allowed"), "quote a text that has a colon in it"),
)


def _located(error: yaml.MarkedYAMLError, text: str) -> NoYamlError:
    """Say what YAML's reader found wrong, and where, with what to do about what is often meant."""
    problem = " ".join(filter(None, (error.context, error.problem))) or "it can't be read"
    advice = next((advice for sign, advice in _ADVICE if sign.search(problem)), "mend it there")
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (text.count("\n") + 1, 1)
    return NoYamlError(f"{problem}: {advice}", line, column)


def _unprintable(text: str, error: yaml.reader.ReaderError) -> NoYamlError:
    at = error.position
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return NoYamlError(f"{text[at]!a} can't be in YAML: write it as an escape", line, column)
