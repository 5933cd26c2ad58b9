"""Values and arguments in the shape that a JSON Schema asks for. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from ...text import whole_characters, without_surrogates
from ...untrusted.json_text import json_type
from .lenient_json import JsonProblem, read_json
from .usage import MENDED, noted, notes

__all__ = [
    "Shaped",
    "mended_in",
    "normal_name",
    "offered_name",
    "offered_tools",
    "read_arguments",
    "shaped",
]


_DEEPEST = 60
_MOST_WRAPPED = 3
_MOST_ALTERNATIVES = 50
_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?"
)
_NOT_IN_NAMES = re.compile(r"[\W_]+")
_CALL_NAMES = frozenset({"name", "tool", "toolname", "type", "id"})
_UNKNOWN: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Shaped:
    """A value, and what was mended in it, in words."""

    value: Any
    mended: tuple[str, ...] = ()


def shaped(value: Any, schema: Mapping[str, Any]) -> Shaped:
    """Return arguments in the shape of a schema; what fits no shape for certain stays as it is.

    Args:
        value: What was read of the arguments.
        schema: The JSON Schema of the tool's arguments, or of a plan.
    """
    shaper = _Shaper(dict(schema))
    value = shaper.unwrapped(value)
    return Shaped(shaper.shape(value, shaper.schema, "", 0), tuple(shaper.mended))


def normal_name(name: str) -> str:
    """Return a name without case and marks: `createSubagent` is `create_subagent`."""
    return _NOT_IN_NAMES.sub("", name).casefold()


@dataclass(slots=True)
class _Shaper:
    schema: dict[str, Any]
    mended: dict[str, None] = field(default_factory=dict[str, None])
    _normal: dict[int, dict[str, list[str]]] = field(
        default_factory=dict[int, dict[str, list[str]]]
    )

    def unwrapped(self, value: Any) -> Any:
        """Take arguments out of a text, and of what they are the only thing in."""
        for _ in range(_MOST_WRAPPED):
            if value is None or value == []:
                self._mend("", "written as no arguments")
                return {}
            if (only := _only_object(value)) is not None:
                self._mend("", "taken out of a list")
                value = only
            if isinstance(value, str):
                if (read := self._read(value, {"object"})) is None:
                    return value
                self._mend("", "taken out of a text")
                value = read
            elif (inner := self._inner(value, _MOST_WRAPPED)) is not None:
                self._mend("", "taken out of what they were wrapped in")
                value = inner
            else:
                return value
        return value

    def _inner(self, value: Any, remaining: int) -> Any:
        """Return what an object holds in a name that the schema doesn't have, and no other does."""
        known = self._names(self.schema)
        if not isinstance(value, dict) or not known or not remaining:
            return None
        fields = cast("dict[str, Any]", value)
        unknown = [name for name in fields if normal_name(name) not in known]
        holding = [name for name in unknown if normal_name(name) not in _CALL_NAMES]
        if len(unknown) != len(fields) or len(holding) != 1:
            return None
        inner = fields[holding[0]]
        if isinstance(inner, str):
            inner = self._read(inner, {"object"})
        if not isinstance(inner, dict):
            return None
        names = {normal_name(name) for name in cast("dict[str, Any]", inner)}
        required = {normal_name(name) for name in _required(self.schema)}
        is_call = len(fields) > 1 or normal_name(holding[0]) in ("arguments", "parameters")
        fits = required <= names and bool(names & known.keys() or is_call)
        return cast("Any", inner) if fits or self._inner(inner, remaining - 1) is not None else None

    def shape(self, value: Any, schema: Any, path: str, depth: int) -> Any:
        if depth > _DEEPEST:
            return value
        choices = self._choices(schema)
        kinds = _kinds(choices)
        if kinds is None:
            return value
        kind = json_type(value)
        if kind not in kinds and not (kind == "integer" and "number" in kinds):
            value = self._converted(value, kind, kinds, choices, path)
            kind = json_type(value)
        fitting = [choice for choice in choices if kind in (_kinds([choice]) or ())]
        if len(fitting) != 1:
            return value
        if kind == "string":
            return self._listed(value, fitting[0], path)
        if kind == "object":
            return self._object(value, fitting[0], path, depth)
        if kind == "array" and isinstance(fitting[0].get("items"), dict):
            items = fitting[0]["items"]
            return [
                self.shape(item, items, f"{path}[{number}]", depth + 1)
                for number, item in enumerate(value)
            ]
        return value

    def _converted(
        self,
        value: Any,
        kind: str,
        kinds: Collection[str],
        choices: list[dict[str, Any]],
        path: str,
    ) -> Any:
        """Return a value in one of the kinds that are due, or as it is."""
        if kind == "string" and (read := self._from_text(value, kinds)) is not _UNKNOWN:
            self._mend(path, f"{_name_of(read)} taken out of a text")
            return read
        if kind == "number" and "integer" in kinds and cast("float", value).is_integer():
            self._mend(path, "a number written as a whole one")
            return int(value)
        if "array" in kinds and kind not in ("array", "null"):
            lists = [choice for choice in choices if "array" in (_kinds([choice]) or ())]
            item = lists[0].get("items") if len(lists) == 1 else None
            of_items = _kinds(self._choices(item)) if isinstance(item, dict) else None
            several = kind == "string" and ("," in value or "\n" in value or not value.strip())
            if of_items and not several:
                fits = kind in of_items or (kind == "integer" and "number" in of_items)
                if fits or self._from_text(value, of_items) is not _UNKNOWN:
                    self._mend(path, "a single value made a list")
                    return [value]
        return value

    def _from_text(self, value: Any, kinds: Collection[str]) -> Any:
        """Return what a text says in one of the kinds; `_UNKNOWN` if that isn't certain."""
        if not isinstance(value, str) or "string" in kinds:
            return _UNKNOWN
        text = value.strip()
        if text.startswith(("{", "[", "```")):
            read = self._read(text, {"object", "array"} & set(kinds))
            return _UNKNOWN if read is None else read
        if "integer" in kinds and _INTEGER.fullmatch(text):
            return int(text)
        if "number" in kinds and _NUMBER.fullmatch(text) and isfinite(float(text)):
            return float(text) if "." in text or "e" in text.lower() else int(text)
        if "boolean" in kinds and text.casefold() in ("true", "false"):
            return text.casefold() == "true"
        if "null" in kinds and text.casefold() in ("null", "none"):
            return None
        return _UNKNOWN

    def _read(self, text: str, kinds: Collection[str]) -> Any:
        try:
            read = read_json(text)
        except JsonProblem:
            return None
        if isinstance(read.value, str) and "object" in kinds and read.value != text:
            return self._read(read.value, kinds)
        return read.value if json_type(read.value) in kinds else None

    def _object(self, value: dict[str, Any], schema: dict[str, Any], path: str, depth: int) -> Any:
        properties, required = _properties(schema), _required(schema)
        by_normal = self._names(schema)
        made: dict[str, Any] = {}
        for name, item in value.items():
            known = name
            if name not in properties:
                alike = by_normal.get(normal_name(name), [])
                if len(alike) == 1 and alike[0] not in value:
                    known = alike[0]
                    self._mend(f"{path}.{known}", f"written as {name[:40]!r}")
            place = f"{path}.{known}" if path else known
            if known not in properties:
                made[known] = item
                continue
            if item is None and known not in required:
                kinds = _kinds(self._choices(properties[known]))
                if kinds is not None and "null" not in kinds:
                    self._mend(place, "null left out")
                    continue
            made[known] = self.shape(item, properties[known], place, depth + 1)
        return made

    def _listed(self, value: str, schema: dict[str, Any], path: str) -> str:
        """Return the one of an enumeration that a text is except for case and marks."""
        found: Any = schema.get("enum")
        listed = cast("list[Any]", found) if isinstance(found, list) else [value]
        if value in listed:
            return value
        alike = [
            each
            for each in listed
            if isinstance(each, str) and normal_name(each) == normal_name(value)
        ]
        if len(alike) != 1:
            return value
        self._mend(path, f"written as {value[:40]!r}")
        return alike[0]

    def _names(self, schema: dict[str, Any]) -> dict[str, list[str]]:
        """Return a schema's properties by their names without case and marks."""
        if id(schema) not in self._normal:
            found: dict[str, list[str]] = {}
            for name in _properties(schema):
                found.setdefault(normal_name(name), []).append(name)
            self._normal[id(schema)] = found
        return self._normal[id(schema)]

    def _choices(self, schema: Any) -> list[dict[str, Any]]:
        """Return the alternatives of a schema, with references followed."""
        found: list[dict[str, Any]] = []
        remaining: list[Any] = [schema]
        looked = 0
        while remaining and looked < _MOST_ALTERNATIVES:
            looked += 1
            each: Any = remaining.pop(0)
            if not isinstance(each, dict):
                return [_UNKNOWN]
            each = cast("dict[str, Any]", each)
            alternatives: Any = each.get("anyOf") or each.get("oneOf") or each.get("allOf")
            if "$ref" in each:
                remaining.append(self._referred(each["$ref"]))
            elif isinstance(alternatives, list) and "properties" not in each:
                many = cast("list[Any]", alternatives)
                # A value for several schemas together is certain only where it is one.
                remaining += many if "allOf" not in each or len(many) == 1 else [_UNKNOWN]
            else:
                found.append(each)
        return [_UNKNOWN] if remaining else found

    def _referred(self, reference: Any) -> Any:
        found: Any = self.schema
        for part in str(reference).removeprefix("#").strip("/").split("/")[:20]:
            if part and isinstance(found, dict):
                found = cast("dict[str, Any]", found).get(
                    part.replace("~1", "/").replace("~0", "~")
                )
        return found

    def _mend(self, path: str, what: str) -> None:
        self.mended.setdefault(f"{path.lstrip('.')}: {what}" if path else f"all of it {what}")


def _only_object(value: object) -> Any:
    """Return the object that is the only item of a list; None if a value is something else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return items[0] if len(items) == 1 and json_type(items[0]) == "object" else None


def _kinds(choices: list[dict[str, Any]]) -> frozenset[str] | None:
    """Return the kinds of value that alternatives take; None if any may be."""
    kinds: set[str] = set()
    for choice in choices:
        kind: Any = choice.get("type")
        if isinstance(kind, str):
            kinds.add(kind)
        elif isinstance(kind, list):
            kinds |= {str(each) for each in cast("list[Any]", kind)}
        elif isinstance(listed := choice.get("enum"), list):
            kinds |= {json_type(each) for each in cast("list[Any]", listed)}
        elif "const" in choice:
            kinds.add(json_type(choice["const"]))
        elif "properties" in choice:
            kinds.add("object")
        else:
            return None
    return frozenset(kinds)


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found: Any = schema.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _required(schema: dict[str, Any]) -> list[str]:
    found: Any = schema.get("required")
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [name for name in listed if isinstance(name, str)]


def _name_of(value: Any) -> str:
    names = {"array": "a list", "object": "an object", "integer": "a number", "null": "null"}
    return names.get(json_type(value), f"a {json_type(value)}")


_LONGEST_NAME = 300
_LEAKED = re.compile(r"<[|｜].*|:\d{1,6}$", re.DOTALL)
"""Marks of a model's own format, and Kimi's number of the call, behind a name."""
_PARTS = re.compile(r"[.:/]|__")
_GENERAL = re.compile(r"(?:functions?|tools?|default_api|api)_")


def offered_tools(asked: ModelRequestParameters) -> dict[str, ToolDefinition]:
    """Return the tools that a request offered, by their names."""
    return {tool.name: tool for tool in (*asked.function_tools, *asked.output_tools)}


def offered_name(name: str, offered: Collection[str]) -> str | None:
    """Return the offered tool that a name means: with a prefix, a mark behind it, in another case.

    None where no tool is meant, or several may be.

    Example:
        `functions.write_plan`, `default_api:write_plan` and `WritePlan` mean `write_plan`.
    """
    if name in offered:
        return name
    bare = _LEAKED.sub("", name[:_LONGEST_NAME]).strip(" \t\n\"'`()")
    unprefixed = [bare, _PARTS.split(bare)[-1], _GENERAL.sub("", bare, count=1)]
    for found in unprefixed:
        if found in offered:
            return found
    for found in unprefixed:
        alike = [each for each in offered if found and normal_name(each) == normal_name(found)]
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None


def read_arguments(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Give the calls of an answer their tools' own names, and arguments in their schemas' shape."""
    offered = offered_tools(asked)
    mended: list[str] = []
    parts = [
        _call(part, offered, mended, is_whole=answer.finish_reason != "length")
        if isinstance(part, ToolCallPart)
        else part
        for part in answer.parts
    ]
    return noted(replace(answer, parts=parts), MENDED, mended) if mended else answer


def mended_in(messages: Sequence[ModelMessage], name: str) -> str:
    """Return what was mended in the calls of a tool in the last answer; "" for nothing."""
    last = next((m for m in reversed(messages) if isinstance(m, ModelResponse)), None)
    found = notes(last, MENDED) if last else ()
    return "; ".join(
        what for what in found if what.startswith((f"arguments of {name}:", f"{name}:"))
    )


def _call(
    part: ToolCallPart, offered: dict[str, ToolDefinition], mended: list[str], *, is_whole: bool
) -> ToolCallPart:
    name = offered_name(part.tool_name, offered)
    if name is None:
        return part
    if name != part.tool_name:
        mended.append(f"{name}: called as {part.tool_name[:60]!r}")
        part = replace(part, tool_name=name)
    if not part.args:
        return part
    try:
        value, what = _value(part.args, is_whole=is_whole)
    except JsonProblem:
        return part  # Who validates the call says where it isn't JSON, and the model reads that.
    found = shaped(value, offered[name].parameters_json_schema)
    if not (what := [*what, *found.mended]) or not isinstance(found.value, dict):
        return part
    mended += [f"arguments of {name}: {each}" for each in what]
    made = cast("dict[str, Any]", cast("Any", found).value)
    is_text = isinstance(part.args, str)
    return replace(part, args=json.dumps(made, ensure_ascii=False) if is_text else made)


def _value(args: str | dict[str, Any], *, is_whole: bool) -> tuple[Any, list[str]]:
    what: list[str] = []
    if isinstance(args, str):
        read = read_json(args, whole=is_whole)
        args, what = read.value, [*read.mended]
    whole = without_surrogates(args)
    if whole is not args:
        what.append(f"half a character written as {whole_characters(chr(0xD800))}")
    return whole, what
