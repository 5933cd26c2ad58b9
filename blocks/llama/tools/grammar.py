"""Rules for calls of tools in a model's style. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import InputError
from ..api import LocalTool
from ..schemas.convert import schema_rule
from ..schemas.rules import Rules, choice, literal
from .free_text import BLANKS, Beginning
from .render import Style

__all__ = ["CallRules", "call_grammar"]

MOST_CALLS = 8
"""Calls in an answer: a small model would go on with the same call up to its last token."""

_NAMED = ("{", BLANKS, *'"name"', BLANKS, ":", BLANKS, '"')
_NAMED_IN_LIST = ("[", BLANKS, *_NAMED)
_NAME_KEY = literal('"name"')
_SEVERAL: frozenset[Style] = frozenset({"tags", "list"})


def call_grammar(tools: Sequence[LocalTool], style: Style, *, several: bool = False) -> str:
    """Return GBNF for a call of one of the tools, or for several calls where the style has them."""
    calls = CallRules(tools, style, several=several)
    return calls.rules.grammar(calls.whole)


@dataclass(frozen=True, slots=True)
class _ToolRules:
    """A tool's name with its closing quote, and the rule for what follows that in its call."""

    name: str
    rest: str


class CallRules:
    """What calls look like.

    Attributes:
        rules: All rules that a call needs.
        whole: The rule for an answer that is calls and nothing else.
    """

    def __init__(self, tools: Sequence[LocalTool], style: Style, *, several: bool = False) -> None:
        """Make the rules.

        Args:
            tools: Those that may be called; where no grammar can be made of a tool's schema its
                arguments may be any object.
            style: How the model writes calls.
            several: Whether an answer may have several, where the style has a place for them.
        """
        self.rules = Rules()
        self._style: Style = style
        self._more = MOST_CALLS - 1 if several and style in _SEVERAL else 0
        self._tools = [self._tool(tool) for tool in tools]
        self._named = self.rules.add(choice([(tool.name, tool.rest) for tool in self._tools]))
        self._call = self.rules.add(rf'"{{" ws {_NAME_KEY} ":" ws "\"" {self._named}')
        self.whole = self.rules.add(self._whole())

    def beginnings(self) -> list[Beginning]:
        """Return what begins a call in a text.

        A mark does anywhere. Bare JSON does where it is all there is, if models of the style write
        calls so; behind other text it does only with the name of a tool, for a text may show JSON.
        """
        tail = self.rules.add('ws ("```" ws)?')
        bare = [
            Beginning("line", (*_NAMED, *tool.name), self.rules.add(f"{tool.rest} {tail}"))
            for tool in self._tools
        ]
        return [*self._marks(), *bare]

    def forbidden(self) -> list[Beginning]:
        """Return what must not begin where no tool may be called."""
        return [Beginning(each.where, each.parts, "") for each in self.beginnings()]

    def _tool(self, tool: LocalTool) -> _ToolRules:
        key = literal('"parameters"' if self._style == "parameters" else '"arguments"')
        rest = f'"," ws {key} ":" ws {self._arguments(tool)} ws "}}"'
        return _ToolRules(json.dumps(tool.name, ensure_ascii=False)[1:], self.rules.add(rest))

    def _arguments(self, tool: LocalTool) -> str:
        try:
            return schema_rule({"type": "object", **tool.parameters}, self.rules)
        except InputError:
            # Whoever makes the call validates its arguments, and tells the model what is wrong.
            return "object"

    def _after_tag(self) -> str:
        closed = self.rules.add(f'ws {self._call} ws "</tool_call>"')
        return self.rules.add(f'{closed} (ws "<tool_call>" {closed}){{0,{self._more}}}')

    def _after_bracket(self) -> str:
        """What follows the name's quote of the first call in a list."""
        return self.rules.add(f'{self._named} ws ("," ws {self._call}){{0,{self._more}}} ws "]"')

    def _listed(self) -> str:
        return rf'"[" ws "{{" ws {_NAME_KEY} ":" ws "\"" {self._after_bracket()}'

    def _whole(self) -> str:
        match self._style:
            case "tags":
                return f'"<tool_call>" {self._after_tag()}'
            case "list":
                return f'("[TOOL_CALLS]" ws)? {self._listed()}'
            case "parameters":
                return f'"<|python_tag|>"? {self._call}'
            case "plain":
                return self._call

    def _marks(self) -> list[Beginning]:
        listed = self.rules.add(f"ws {self._listed()}")
        # Whatever the style, an answer's reader takes what is behind these marks for a call.
        marks = [
            Beginning("anywhere", tuple("<tool_call>"), self._after_tag()),
            Beginning("anywhere", tuple("[TOOL_CALLS]"), listed),
        ]
        match self._style:
            case "tags":
                return marks
            case "list":
                return [*marks, Beginning("start", _NAMED_IN_LIST, self._after_bracket())]
            case "parameters":
                tagged = Beginning("start", tuple("<|python_tag|>"), self._call)
                return [*marks, tagged, Beginning("start", _NAMED, self._named)]
            case "plain":
                return [*marks, Beginning("start", _NAMED, self._named)]
