"""Names and arguments of calls in the form that the offered tools have. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from ...text import whole_characters, without_surrogates
from .lenient_json import JsonProblem, read_json
from .notes import MENDED, noted, notes
from .shaped import normal_name, shaped

__all__ = ["mended_in", "offered_name", "offered_tools", "read_arguments"]

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
