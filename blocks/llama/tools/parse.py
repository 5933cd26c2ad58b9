"""Finding the calls of tools in what a model wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

from ..api import LocalToolCall

__all__ = ["ParsedAnswer", "parse_answer"]

_TAGGED = re.compile(r"<tool_call>\s*+(.*?)(?:</tool_call>|$)", re.S)
_LISTED = re.compile(r"\[TOOL_CALLS\]\s*")
_PYTHON_TAG = "<|python_tag|>"
_FENCED = re.compile(r"```(?:json)?[^\S\n]*+\n\s*+(.*?)```", re.S)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class ParsedAnswer:
    """The calls in an answer, in their order, and the text around them."""

    text: str
    calls: tuple[LocalToolCall, ...] = ()


def parse_answer(text: str, names: Collection[str]) -> ParsedAnswer:
    """Take the calls out of an answer; what is no call stays text, and nothing is lost.

    A call between `<tool_call>` tags or behind `[TOOL_CALLS]` may name any tool, for whoever runs
    them can say which there are. Bare JSON is a call only if it names a known one. A marked call
    that is malformed keeps its arguments as they stand.

    Args:
        text: What the model wrote.
        names: The tools it was offered.
    """
    if not names:
        return ParsedAnswer(text)
    if "<tool_call>" in text:
        return _parse_tagged(text)
    if found := _LISTED.search(text):
        return _parse_listed(text, found)
    return _parse_bare(text, names) or ParsedAnswer(text)


def _parse_tagged(text: str) -> ParsedAnswer:
    kept: list[str] = []
    calls: list[LocalToolCall] = []
    end = 0
    for found in _TAGGED.finditer(text):
        kept.append(text[end : found.start()])
        end = found.end()
        if call := _marked_call(found[1]):
            calls.append(call)
        else:
            kept.append(found[0])
    kept.append(text[end:])
    return _answer(kept, calls)


def _parse_listed(text: str, found: re.Match[str]) -> ParsedAnswer:
    before, rest = text[: found.start()], text[found.end() :]
    value, end = _decoded(rest)
    calls = _calls_in(value)
    if calls:
        return _answer([before, rest[end:]], calls)
    if call := _marked_call(rest):
        return _answer([before], [call])
    return ParsedAnswer(text)


def _parse_bare(text: str, names: Collection[str]) -> ParsedAnswer | None:
    """Read JSON at the beginning, in a code fence, or at the end."""
    rest = text.strip().removeprefix(_PYTHON_TAG).lstrip()
    if rest.startswith(("{", "[")):
        return _parse_objects(rest, names)
    if fenced := _FENCED.search(text):
        value, end = _decoded(fenced[1])
        calls = _known_calls(value, names)
        if calls and not fenced[1][end:].strip():
            return _answer([text[: fenced.start()], text[fenced.end() :]], calls)
    # A model that says first what it is going to do writes the call on a line of its own.
    for found in re.finditer(r"^[^\S\n]*+(?=\{)", text, re.M):
        value, end = _decoded(text[found.end() :])
        calls = _known_calls(value, names)
        if calls:
            return _answer([text[: found.start()], text[found.end() + end :]], calls)
    return None


def _parse_objects(rest: str, names: Collection[str]) -> ParsedAnswer | None:
    """Read calls that follow each other, with a semicolon or a break between."""
    calls: list[LocalToolCall] = []
    while rest.startswith(("{", "[")):
        value, end = _decoded(rest)
        known = _known_calls(value, names)
        if not known:
            break
        calls += known
        rest = rest[end:].lstrip("; \n\t")
    return _answer([rest], calls) if calls else None


def _answer(kept: list[str], calls: list[LocalToolCall]) -> ParsedAnswer:
    if not calls:
        return ParsedAnswer("".join(kept))
    texts = [part.strip() for part in kept]
    return ParsedAnswer("\n".join(part for part in texts if part), tuple(calls))


def _decoded(text: str) -> tuple[Any, int]:
    """The JSON value that a text begins with, and where it ends; None if it begins with none."""
    try:
        return _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0


def _known_calls(value: Any, names: Collection[str]) -> list[LocalToolCall]:
    calls = _calls_in(value)
    return calls if calls and all(call.name in names for call in calls) else []


def _calls_in(value: Any) -> list[LocalToolCall]:
    """The calls that a JSON value is: an object or a list of such; none if any of it is not."""
    if isinstance(value, list):
        calls = [_call(item) for item in cast("list[Any]", value)]
    else:
        calls = [_call(value)]
    return [call for call in calls if call] if all(calls) else []


def _call(value: Any) -> LocalToolCall | None:
    if not isinstance(value, dict):
        return None
    found = cast("dict[str, Any]", value)
    if isinstance(function := found.get("function"), dict):
        found = cast("dict[str, Any]", function)
    name = found.get("name")
    key = next((key for key in ("arguments", "parameters") if key in found), None)
    # An object with a name alone is a call only if nothing else is in it.
    if not isinstance(name, str) or not name or (key is None and found.keys() > {"name"}):
        return None
    arguments = found.get(key) if key else None
    if isinstance(arguments, str):
        # Some models write the arguments as a text that is JSON.
        return LocalToolCall(name, arguments)
    return LocalToolCall(name, json.dumps(arguments or {}, ensure_ascii=False))


def _marked_call(text: str) -> LocalToolCall | None:
    """The call that a marked text is, with its arguments as they stand if they are malformed."""
    value, end = _decoded(text)
    if (call := _call(value)) and not text[end:].strip():
        return call
    name = _NAME.search(text)
    if name is None:
        return None
    arguments = _ARGUMENTS.search(text)
    return LocalToolCall(name[1], text[arguments.end() :].strip() if arguments else text)
