"""Finding the calls of tools in what a model wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, cast

from ...quoting import Quote, called, with_quotes
from .api import LocalTool, LocalToolCall, Message

__all__ = [
    "HeldText",
    "ParsedAnswer",
    "Style",
    "knows_tools",
    "parse_answer",
    "style_of",
    "template_tool",
    "template_turn",
    "without_tool_turns",
]


_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_LISTED = re.compile(r"\[TOOL_CALLS\]\s*")
_PYTHON_TAG = "<|python_tag|>"
_FENCE = "```"
_FENCED = re.compile(r"```(?:json)?[^\S\n]*+\n")
_LINE = re.compile(r"^[^\S\n]*+(?=\{)", re.M)
_BETWEEN = re.compile(r"[; \n\t]*")
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*')
_DECODER = json.JSONDecoder()
_MOST_READ = 20_000_000
"""Characters that are looked through for a call behind other text, those that are looked through
again counted again: each line that begins with a bracket may be one up to the text's end."""


@dataclass(frozen=True)
class ParsedAnswer:
    """The calls in an answer, in their order, and the text around them."""

    text: str
    calls: tuple[LocalToolCall, ...] = ()


def parse_answer(text: str, names: Collection[str]) -> ParsedAnswer:
    """Take the calls out of an answer; what is not a call stays text, and nothing is lost.

    A call between `<tool_call>` tags or behind `[TOOL_CALLS]` may name any tool, since the code
    that runs them can say which there are. Bare JSON is a call only if it names a known one. A
    marked call that is malformed keeps its arguments as they stand.

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
    pieces: list[str] = []
    calls: list[LocalToolCall] = []
    end = 0
    while (opening := text.find(_OPEN, end)) >= 0:
        pieces.append(text[end:opening])
        closed = text.find(_CLOSE, opening)
        inner = text[opening + len(_OPEN) : closed if closed >= 0 else None]
        end = closed + len(_CLOSE) if closed >= 0 else len(text)
        if call := _marked_call(inner.strip()):
            calls.append(call)
        else:
            pieces.append(text[opening:end])
    pieces.append(text[end:])
    return _answer(pieces, calls)


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
    if (fenced := _FENCED.search(text)) and (end := text.find(_FENCE, fenced.end())) >= 0:
        inner = text[fenced.end() : end].strip()
        value, size = _decoded(inner)
        calls = _known_calls(value, names)
        if calls and size == len(inner):
            return _answer([text[: fenced.start()], text[end + len(_FENCE) :]], calls)
    # A model that says first what it is going to do writes the call on a line of its own.
    read = end = 0
    while (found := _LINE.search(text, end)) and read < _MOST_READ:
        read += len(text) - found.end()
        value, size = _decoded(text[found.end() :])
        calls = _known_calls(value, names)
        if calls:
            return _answer([text[: found.start()], text[found.end() + size :]], calls)
        # What is in a value that is not a call is none, either.
        end = found.end() + max(size, 1)
    return None


def _parse_objects(text: str, names: Collection[str]) -> ParsedAnswer | None:
    """Read calls that follow each other, with a semicolon or a break between."""
    calls: list[LocalToolCall] = []
    end = 0
    while text.startswith(("{", "["), end):
        value, after = _decoded(text, end)
        known = _known_calls(value, names)
        if not known:
            break
        calls += known
        between = _BETWEEN.match(text, after)
        end = between.end() if between else after
    return _answer([text[end:]], calls) if calls else None


def _answer(pieces: list[str], calls: list[LocalToolCall]) -> ParsedAnswer:
    if not calls:
        return ParsedAnswer("".join(pieces))
    texts = [part.strip() for part in pieces]
    return ParsedAnswer("\n".join(part for part in texts if part), tuple(calls))


def _decoded(text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value that begins there, and where it ends; None if there is none."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


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


_MARKS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "```")
_OPENINGS = re.compile("|".join([*map(re.escape, _MARKS), r"\n[ \t]*[{\[]"]))
_FIRST = re.compile(r"[ \t]*[{\[]")


class HeldText:
    """Lets text through until a call of a tool may have begun; from there all of it is held.

    A call may begin with a mark anywhere, or with a bracket at the beginning of a line. What is
    held is parsed when the answer has ended. No letter is looked at again with each piece.
    """

    def __init__(self) -> None:
        self._released: list[str] = []
        # What has not gone on: blanks, and behind them what may become a mark.
        self._blanks: list[str] = []
        self._pending = ""
        self._at_line_start = True
        self._holding = False

    def add(self, piece: str) -> str:
        """Append, and return what may go on now."""
        if self._holding:
            return ""
        fresh = self._pending + piece
        found = (self._at_line_start and _FIRST.match(fresh)) or _OPENINGS.search(fresh)
        if found:
            self._holding = True
            # Space before a call is not a text of the answer.
            return self._release(fresh[: found.start()])
        end = len(fresh) - _may_begin(fresh)
        text, self._pending = fresh[:end], fresh[end:]
        _, is_broken, line = text.rpartition("\n")
        self._at_line_start = bool(is_broken or self._at_line_start) and not line.strip(" \t")
        return self._release(text)

    def _release(self, text: str) -> str:
        """Return a text with the blanks before it, but not those at its end."""
        body = text.rstrip()
        if not body:
            self._blanks.append(text)
            return ""
        ready = "".join([*self._blanks, body])
        self._blanks = [text[len(body) :]]
        self._released.append(ready)
        return ready

    def rest(self, parsed: ParsedAnswer) -> str:
        """Return what of the ended answer's text has not gone on yet."""
        released = "".join(self._released)
        return parsed.text.removeprefix(released if not parsed.calls else released.lstrip())


def _may_begin(text: str) -> int:
    """How many of the last characters may be the beginning of a mark."""
    return max(size for mark in _MARKS for size in range(len(mark)) if text.endswith(mark[:size]))


Style = Literal["tags", "parameters", "list", "plain"]
"""How a model writes a call.

`tags`: a JSON object between `<tool_call>` and `</tool_call>` (Hermes, Qwen). `parameters`: an
object with `parameters` instead of `arguments` (Llama 3.1). `list`: a list of objects (Mistral).
`plain`: an object, as our own instructions ask for.
"""

_INSTRUCTIONS = """\
You can call tools. These are the tools, with the JSON Schema of their arguments:
{tools}

To call a tool, answer with one JSON object and nothing else:
{{"name": "NAME", "arguments": {{…}}}}
The result then comes as the next message. When no tool is needed, answer in words."""


def knows_tools(template: str) -> bool:
    """Whether a chat template does something with `tools`."""
    return bool(re.search(r"{[%{][^{}]*\btools\b", template))


def style_of(template: str) -> Style:
    """How the model of a chat template writes calls."""
    if not knows_tools(template):
        return "plain"
    if "<tool_call>" in template:
        return "tags"
    if "[TOOL_CALLS]" in template:
        return "list"
    # Other templates show the key in an example of a call.
    return "parameters" if re.search(r"""\\?["']parameters\\?["']\s*:""", template) else "plain"


def template_tool(tool: LocalTool) -> dict[str, Any]:
    """A tool in the form that chat templates take."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def template_turn(message: Message) -> dict[str, Any]:
    """A turn in the form that chat templates take."""
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call)},
            }
            for call in message.calls
        ]
    if message.role == "tool":
        turn |= {"tool_call_id": message.call_id, "name": message.name}
    return turn


def without_tool_turns(
    messages: Sequence[Message], tools: Sequence[LocalTool] = ()
) -> tuple[Message, ...]:
    """The same conversation in system, user and assistant turns alone.

    Tools are described in the system turn, a call is what the model would write to call it, and a
    result is the user's.
    """
    turns = [_plain_turn(message) for message in messages]
    if tools:
        described = "\n".join(
            json.dumps(template_tool(tool)["function"], ensure_ascii=False) for tool in tools
        )
        turns.insert(0, Message("system", _INSTRUCTIONS.format(tools=described)))
    return tuple(_merged(turns))


def _arguments(call: LocalToolCall) -> Any:
    """The arguments as an object, which templates write themselves; as text if they are none."""
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments


def _plain_turn(message: Message) -> Message:
    if message.role == "tool":
        # All is one turn of the user's here: what a result says must not pass for another's.
        label = f"Result of {called(message.name or 'the tool')}:"
        result = Quote(text=message.content, label=label)
        return Message("user", with_quotes([result], explained=False)[0])
    if not message.calls:
        return message
    calls = [
        json.dumps({"name": call.name, "arguments": _arguments(call)}, ensure_ascii=False)
        for call in message.calls
    ]
    return Message(message.role, "\n".join([message.content, *calls]).strip())


def _merged(turns: Iterable[Message]) -> list[Message]:
    groups = groupby(turns, key=lambda turn: turn.role)
    return [_as_one([*alike]) for _, alike in groups]


def _as_one(turns: Sequence[Message]) -> Message:
    first, *others = turns
    return Message(first.role, "\n\n".join(turn.content for turn in turns)) if others else first
