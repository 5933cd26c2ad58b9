"""Calls of tools that a model wrote as text, in the forms that models were trained on. Pure.

A text is a call only where it is nothing else, and names a tool that was offered.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters

from .lenient_json import JsonProblem, read_json, read_values
from .reasoning import harmony_messages
from .shapes import normal_name, offered_name, offered_tools, shaped
from .usage import MENDED, UNMADE_CALL, noted

__all__ = [
    "CallText",
    "WrittenCall",
    "arguments_in_json",
    "calls_in_json",
    "calls_in_python",
    "make_calls",
    "read_call_text",
]


_NAMES = ("name", "tool_name", "tool", "function", "recipient_name", "function_name", "action")
_ARGUMENTS = (
    "arguments", "parameters", "args", "input", "tool_input", "params", "kwargs", "action_input"
)  # fmt: skip
_LISTS = ("tool_calls", "tool_uses", "function_calls")
_EXTRAS = frozenset({"id", "type", "tool_call_id", "call_id", "index"})
_LONGEST_PYTHON = 20_000
_PRINTED = re.compile(r"print\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call: the tool's name as it was written, and its arguments; None if it names none.

    Attributes:
        is_marked: Whether it stands between marks that mean nothing but a call.
    """

    name: str
    args: Any
    is_marked: bool = False


def calls_in_json(text: str) -> list[WrittenCall] | None:
    """Return the calls that a JSON text is: an object, a list, or several objects; else None."""
    text = _unfenced(text)
    if not text.startswith(("{", "[")):
        return None
    try:
        values = read_values(text)
    except JsonProblem:
        return None
    if len(values) == 1 and isinstance(values[0], list):
        values = cast("list[Any]", values[0])
    if len(values) == 1 and isinstance(values[0], dict):
        only = cast("dict[str, Any]", values[0])
        listed = next((only[each] for each in _LISTS if isinstance(only.get(each), list)), None)
        if listed and len(only) == 1:
            values = cast("list[Any]", listed)
    calls = [_call(value) for value in values]
    return [call for call in calls if call] if calls and all(calls) else None


def arguments_in_json(text: str) -> dict[str, Any] | None:
    """Return the arguments that a JSON text is; None if it isn't an object."""
    try:
        value = read_json(_unfenced(text)).value
    except JsonProblem:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    """Return what a block of JSON has in it, or the text."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) > 6:
        text = text[3:-3].strip()
    return text.removeprefix("json").strip()


def calls_in_python(text: str) -> list[WrittenCall] | None:
    """Return the calls that a Python text is: of names, with literals as keyword arguments."""
    text = text.strip()
    if len(text) > _LONGEST_PYTHON or not text.endswith((")", "]")):
        return None
    if printed := _PRINTED.fullmatch(text):
        text = printed[1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    calls = [_python_call(node) for node in nodes]
    return [call for call in calls if call] if calls and all(calls) else None


def _call(value: Any) -> WrittenCall | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    for wrapper in ("function", "tool_call", "function_call"):
        if isinstance(inner := fields.get(wrapper), dict) and fields.keys() <= {wrapper, *_EXTRAS}:
            return _call(cast("dict[str, Any]", inner))
    key = next((key for key in _NAMES if isinstance(fields.get(key), str)), None)
    holding = next((each for each in _ARGUMENTS if each in fields), None)
    if key is None or not fields.keys() <= {key, holding, *_EXTRAS}:
        return None
    args: Any = (fields[holding] or {}) if holding else None
    return WrittenCall(fields[key], args) if args is None or isinstance(args, dict | str) else None


def _python_call(node: ast.expr) -> WrittenCall | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    try:
        name = ast.unparse(node.func)
        args = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
    except (ValueError, RecursionError, TypeError, SyntaxError, MemoryError):
        return None
    if None in args or not re.fullmatch(r"[\w.]{1,200}", name):
        return None
    # `tool.call(key="value")` is how some models write a call of `tool`.
    return WrittenCall(name.removesuffix(".call"), args)


# Models' own marks have letters that look like | and _.
_PLAIN = str.maketrans({"｜": "|", "▁": "_"})
_WORDS = r"(?:tool_calls?|function_calls?|functions?_call|tool_use|tool_code|tool_request)"
_MARK = re.compile(
    rf"</?(?:[a-z]{{1,12}}:|\|DSML\|)?{_WORDS}>"
    r"|<\|/?(?:tool_calls?(?:_section)?(?:_?(?:begin|start|end))?|python_tag|(?:START|END)_ACTION"
    r"|function_calls?|plugin|action_(?:start|end))\|>|</?functioncall>"
    r"|<(?=tool(?:_call)?\s{1,9}name=)|</tool>"
    r"|<\|tool_call>|<tool_call\|>"
    r"|\[/?(?:TOOL_CALLS?|TOOL_REQUEST|END_TOOL_REQUEST)\]"
    r"|functools(?=\[)|<tools>(?=\s{0,20}[\[{])|(?<=[}\]\s])</tools>"
)
_BLOCK = re.compile(r"<(?:[a-z]{1,12}:|\|DSML\|)?(?:function|invoke)(?:=|\s{1,9}name\s{0,9}=)")
_FENCE = re.compile(r"```(tool_code|tool_calls?|json|xml|python)?[ \t]*\n")
_INVOKED = re.compile(
    r"<(?:[a-z]{1,12}:|\|DSML\|)?(?:function|invoke)(?:=|\s{1,9}name\s{0,9}=\s{0,9})[\"']?([^\"'<>\s]{1,200})[\"']?\s*>"
)
_INVOKED_END = re.compile(r"</(?:[a-z]{1,12}:|\|DSML\|)?(?:function|invoke)>")
_PARAMETER = re.compile(
    r"<(?:[a-z]{1,12}:|\|DSML\|)?parameter(?:=|\s{1,9}name\s{0,9}=\s{0,9})[\"']?([^\"'<>\s]{1,200})[\"']?[^<>]{0,80}>"
)
_PARAMETER_END = re.compile(r"</(?:[a-z]{1,12}:|\|DSML\|)?parameter>")
_ARG_KEY = re.compile(r"<arg_key>([^<]{1,200})</arg_key>\s*<arg_value>")
_NAMED = re.compile(
    r"(?:call:|function<\|tool_sep\|>)?([\w.:/-]{1,200})"
    r"(?:<\|tool_sep\|>|<\|tool_call_argument_begin\|>|(?:\[CALL_ID\][\w-]{1,100})?\[ARGS\])?"
    r"\s{0,20}(?=\{|```)"
)
_ELEMENTS = re.compile(
    r"<(?:tool_)?name>([^<]{1,200})</(?:tool_)?name>\s*<(arguments|parameters|input)>"
)
_ATTRIBUTE = re.compile(r"tool(?:_call)?\s{1,9}name=[\"']?([^\"'<>\s]{1,200})[\"']?[^<>]{0,80}>")
_ELEMENT = re.compile(r"<([\w.:-]{1,200})>")
_FIELD = re.compile(r"\s*<([\w.-]{1,200})>")
_ACTION = re.compile(r"Action:[ \t]*([\w.:/-]{1,200})[ \t]*\n+Action Input:\s*(?=[{`])")
_QUOTE = '<|"|>'


@dataclass(frozen=True, slots=True)
class CallText:
    """The calls that a text is, or why what is written as calls can't be made."""

    calls: tuple[WrittenCall, ...] = ()
    problem: str = ""


def read_call_text(text: str, offered: Collection[str]) -> CallText:
    """Return the calls that a text is and nothing else; neither calls nor a problem if it is none.

    Args:
        text: What a model wrote, without its reasoning.
        offered: The names of the tools that it was offered.
    """
    text = text.strip()
    if text.startswith("<|channel|>") and harmony_messages(text):
        return _checked(_of_harmony(text), offered)
    fence = _FENCE.match(text)
    if fence and text.endswith("```") and text.count("```") == 2:
        inner = text[fence.end() : -3].strip()
        found = read_call_text(inner, offered)
        # A block of JSON or of XML is what was asked for, unless it is a call for certain.
        if fence[1] not in ("tool_code", "tool_call", "tool_calls"):
            return found if found.calls else CallText()
        if found.calls or found.problem:
            return replace(found, calls=tuple(_marked(found.calls)))
        return _checked(calls_in_json(inner) or calls_in_python(inner), offered)
    plain = text.translate(_PLAIN)
    if _MARK.match(plain) or _BLOCK.match(plain) or _only_closes(plain):
        return _checked(_of_pieces(text, plain), offered)
    if (mark := _mark_behind_text(plain)) is not None:
        found = read_call_text(text[mark:], offered)
        names = ", ".join(dict.fromkeys(call.name for call in found.calls))
        return CallText(problem=found.problem or f"the call of {names} stands behind other text")
    bare = calls_in_json(text) or calls_in_python(text) or _named_by_its_form(text)
    known = bare and all(offered_name(call.name, offered) for call in bare)
    return _checked(bare, offered) if known else CallText()


def make_calls(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Make calls of an answer's text where it is that and nothing else; say why where it can't be.

    Bare JSON is a call only if its arguments fit the tool's schema: it may be what was asked for.
    """
    offered = offered_tools(asked)
    texts = [part for part in answer.parts if isinstance(part, TextPart) and part.content.strip()]
    if not offered or len(texts) != 1 or answer.tool_calls or answer.finish_reason == "length":
        return answer
    found = read_call_text(texts[0].content, offered)
    if found.problem:
        return noted(answer, UNMADE_CALL, found.problem)
    if not found.calls or not all(_is_certain(call, offered) for call in found.calls):
        return answer
    calls: list[ModelResponsePart] = [ToolCallPart(call.name, call.args) for call in found.calls]
    others = [part for part in answer.parts if not isinstance(part, TextPart)]
    reason = "tool_call" if answer.finish_reason == "stop" else answer.finish_reason
    made = replace(answer, parts=[*others, *calls], finish_reason=reason)
    return noted(made, MENDED, [f"{call.name}: called in a text" for call in found.calls])


def _is_certain(call: WrittenCall, offered: dict[str, Any]) -> bool:
    """Say whether a call is marked as one, or its arguments can be those of its tool only."""
    if call.is_marked or call.args is None:
        return call.is_marked
    name = offered_name(call.name, offered)
    schema: Any = offered[name].parameters_json_schema if name else {}
    args = shaped(call.args, schema).value
    known = {normal_name(str(each)) for each in schema.get("properties") or ()}
    required = {normal_name(str(each)) for each in schema.get("required") or ()}
    if not isinstance(args, dict):
        return False
    supplied = {normal_name(each) for each in cast("dict[str, Any]", args)}
    return required <= supplied and supplied <= known


def _checked(calls: list[WrittenCall] | None, offered: Collection[str]) -> CallText:
    if not calls:
        return CallText(problem="it is written as a call of a tool and can't be read as one")
    for call in calls:
        if offered_name(call.name, offered) is None:
            names = ", ".join(sorted(offered)[:20])
            return CallText(problem=f"it calls {call.name[:80]!r}, and the tools are {names}")
    named = [replace(call, name=offered_name(call.name, offered) or "") for call in calls]
    return CallText(tuple(named))


def _only_closes(plain: str) -> bool:
    """Say whether JSON ends with the mark that ends a call, and has no other."""
    first = _MARK.search(plain) if plain.startswith(("{", "[")) else None
    return first is not None and first.end() == len(plain)


def _mark_behind_text(plain: str) -> int | None:
    """Return where a call begins a line behind other text, outside blocks of code.

    A first mark within a line, or in a block of code, says that the text is about such marks.
    """
    found = [mark.start() for pattern in (_MARK, _BLOCK) if (mark := pattern.search(plain))]
    if not found:
        return None
    before = plain[: min(found)]
    begins_line = not before.rpartition("\n")[2].strip()
    return min(found) if begins_line and before.count("```") % 2 == 0 else None


def _marked(calls: Iterable[WrittenCall]) -> list[WrittenCall]:
    return [
        replace(call, args={} if call.args is None else call.args, is_marked=True) for call in calls
    ]


def _of_harmony(text: str) -> list[WrittenCall] | None:
    calls: list[WrittenCall] = []
    for message in harmony_messages(text):
        found = _of_arguments(message.recipient, message.text)
        if message.channel != "commentary" or not message.recipient or found is None:
            return None
        calls.append(found)
    return _marked(calls)


def _of_pieces(text: str, plain: str) -> list[WrittenCall] | None:
    """Read what stands between the marks: each of it has to be calls."""
    calls: list[WrittenCall] = []
    place = 0
    for mark in (*_MARK.finditer(plain), None):
        end = mark.start() if mark else len(text)
        piece, plain_piece = text[place:end].strip(), plain[place:end].strip()
        place = mark.end() if mark else end
        if not piece.strip(";,"):
            continue
        found = _of_piece(piece, plain_piece)
        if not found:
            return None
        calls += found
    return _marked(calls)


def _of_piece(piece: str, plain: str) -> list[WrittenCall] | None:
    if _BLOCK.match(plain):
        return _of_blocks(piece, plain)
    if attribute := _ATTRIBUTE.match(plain):
        return _listed(_of_arguments(attribute[1], piece[attribute.end() :]))
    if "<arg_key>" in piece:
        return _of_argument_tags(piece)
    if elements := _ELEMENTS.match(piece):
        args = piece[elements.end() :].removesuffix(f"</{elements[2]}>")
        return _listed(_of_arguments(elements[1], args))
    if named := _NAMED.match(plain):
        args = piece[named.end() :].replace(_QUOTE, '"')
        return _listed(_of_arguments(named[1], args))
    if re.fullmatch(r"[\w.:/-]{1,200}", plain):
        return [WrittenCall(plain, {})]
    return calls_in_json(piece) or calls_in_python(piece)


def _named_by_its_form(text: str) -> list[WrittenCall] | None:
    """Read `Action: name`, or an element whose name is the tool's: one that is offered, or none."""
    if action := _ACTION.match(text):
        return _listed(_of_arguments(action[1], text[action.end() :]))
    opening = _ELEMENT.match(text)
    if opening is None or not text.endswith(closing := f"</{opening[1]}>"):
        return None
    body = text[opening.end() : -len(closing)]
    if body.lstrip().startswith("{"):
        return _listed(_of_arguments(opening[1], body))
    args, place = dict[str, Any](), 0
    while field := _FIELD.match(body, place):
        end = body.find(f"</{field[1]}>", field.end())
        if end < 0:
            return None
        args[field[1]] = _without_breaks(body[field.end() : end])
        place = end + len(field[1]) + 3
    return None if body[place:].strip() else [WrittenCall(opening[1], args)]


def _of_blocks(piece: str, plain: str) -> list[WrittenCall] | None:
    """Read `<function=name><parameter=key>value</parameter></function>` and what is like it."""
    calls: list[WrittenCall] = []
    place = 0
    while place < len(piece):
        if (opening := _INVOKED.match(plain, place)) is None:
            return None
        end = _INVOKED_END.search(plain, opening.end())
        stop, after = (end.start(), end.end()) if end else (len(piece), len(piece))
        body = piece[opening.end() : stop]
        if body.lstrip().startswith(("{", "```")):
            call = _of_arguments(opening[1], body)
        else:
            call = _of_parameters(opening[1], body, plain[opening.end() : stop])
        if call is None:
            return None
        calls.append(call)
        place = _after_blanks(piece, after)
    return calls


def _of_parameters(name: str, body: str, plain: str) -> WrittenCall | None:
    args: dict[str, Any] = {}
    place = 0
    while opening := _PARAMETER.search(plain, place):
        end = _PARAMETER_END.search(plain, opening.end())
        if end is None or plain[place : opening.start()].strip():
            return None
        args[opening[1]] = _without_breaks(body[opening.end() : end.start()])
        place = end.end()
    return None if plain[place:].strip() else WrittenCall(name, args)


def _of_argument_tags(piece: str) -> list[WrittenCall] | None:
    """Read `name<arg_key>key</arg_key><arg_value>value</arg_value>`."""
    name, _, rest = piece.partition("<arg_key>")
    rest, args = f"<arg_key>{rest}", dict[str, Any]()
    place = 0
    while opening := _ARG_KEY.match(rest, place):
        end = rest.find("</arg_value>", opening.end())
        if end < 0:
            return None
        args[opening[1].strip()] = _without_breaks(rest[opening.end() : end])
        place = _after_blanks(rest, end + len("</arg_value>"))
    return None if place < len(rest) else [WrittenCall(name.strip(), args)]


def _of_arguments(name: str, text: str) -> WrittenCall | None:
    """Return the call whose arguments are JSON on their own."""
    args = arguments_in_json(text) if text.strip() else {}
    return None if args is None else WrittenCall(name, args)


def _listed(call: WrittenCall | None) -> list[WrittenCall] | None:
    return [call] if call else None


def _after_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _without_breaks(value: str) -> str:
    """Return a value without the line break after its opening tag and before its closing one."""
    return value.removeprefix("\n").removesuffix("\n")
