"""Tools and their calls as a chat template takes them, or as plain text where it knows none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal

from ....quoting import Quote, called, with_quotes
from ..api import LocalTool, LocalToolCall, Message

__all__ = [
    "Style",
    "knows_tools",
    "style_of",
    "template_tool",
    "template_turn",
    "without_tool_turns",
]

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
