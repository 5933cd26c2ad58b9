"""Grammars for a turn with tools: an answer or calls in a model's style. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ...errors import InputError
from .api import LocalTool
from .grammar_rules import Rules, TooLargeError, char_class, choice, literal, with_prefix
from .schema_grammar import schema_rule
from .tool_calls import Style

__all__ = [
    "BLANKS",
    "Beginning",
    "CallRules",
    "TurnGrammar",
    "Where",
    "free_text",
    "turn_grammar",
]


BLANKS = " \n\t"
"""As a part of a beginning: any blanks, or none."""

Where = Literal["anywhere", "line", "start"]
_MOST_STATES = 10_000
"""About one for each letter of the tools' names: 1,000 tools with names of 10 letters."""
_Place = Literal["inside", "line", "start"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What begins a call.

    Attributes:
        where: `start` is the text's, behind blanks; `line` that of any line, behind blanks.
        parts: Letters and `BLANKS`, one after another.
        rule: What the text has to go on with then; "" if it must not begin.
    """

    where: Where
    parts: tuple[str, ...]
    rule: str


class _State(NamedTuple):
    """How far beginnings have come, and where in the text this is."""

    seen: frozenset[int]
    place: _Place


@dataclass(slots=True)
class _Node:
    """A place in beginnings; those that begin alike share it.

    Attributes:
        letters: The places that letters lead to.
        blanks: The place that any blanks, or none, lead to.
        ends: The first beginning that is complete here.
    """

    letters: dict[str, int] = field(default_factory=dict[str, int])
    blanks: int | None = None
    ends: int | None = None


def free_text(beginnings: Sequence[Beginning], begun: str = "") -> tuple[str, list[str]]:
    """Return the name of the rule for free text, and all rules it needs.

    Args:
        beginnings: Where two end together, the first counts.
        begun: The text's beginning, which the grammar doesn't see.

    Raises:
        TooLargeError: The beginnings have too many letters.
    """
    return _Automaton(beginnings).rules(begun)


class _Automaton:
    def __init__(self, beginnings: Sequence[Beginning]) -> None:
        self._beginnings = beginnings
        self._nodes: list[_Node] = []
        self._behind_blanks: set[int] = set()
        # Where beginnings begin that may stand there: a tree each, so that a text is compared with
        # what many of them have in common once.
        self._roots: dict[Where, int] = {}
        for number, beginning in enumerate(beginnings):
            self._add(number, beginning)
        self._names: dict[_State, str] = {}
        self._pending: list[_State] = []

    def _add(self, number: int, beginning: Beginning) -> None:
        # Places that make no difference would be states of their own.
        if beginning.where not in self._roots:
            self._roots[beginning.where] = self._new_node()
        at = self._roots[beginning.where]
        for part in beginning.parts:
            node = self._nodes[at]
            following = node.blanks if part == BLANKS else node.letters.get(part)
            if following is None:
                following = self._new_node()
                if part == BLANKS:
                    node.blanks = following
                    self._behind_blanks.add(following)
                else:
                    node.letters[part] = following
            at = following
        if self._nodes[at].ends is None:
            self._nodes[at].ends = number

    def _new_node(self) -> int:
        self._nodes.append(_Node())
        return len(self._nodes) - 1

    def rules(self, begun: str) -> tuple[str, list[str]]:
        state = self._place_only("start")
        for letter in begun:
            after = self._after(state, letter)
            state = after if isinstance(after, _State) else self._place_only("inside")
        first, lines = self._name(state), list[str]()
        # The states that a rule leads to get their names while it is made, and come behind it.
        for reached in self._pending:
            if len(self._pending) > _MOST_STATES:
                raise TooLargeError(
                    "The names of the tools are too long together for a local model.",
                    f"Use fewer tools, or shorter names: about {_MOST_STATES:,} letters in all.",
                )
            lines.append(f"{self._names[reached]} ::= {' | '.join(self._choices(reached))}")
        return first, lines

    def _name(self, state: _State) -> str:
        if (known := self._names.get(state)) is None:
            known = self._names[state] = f"text{len(self._names)}"
            self._pending.append(state)
        return known

    def _choices(self, state: _State) -> Iterator[str]:
        """Nothing more, or a letter and what may follow it."""
        yield ""
        others = self._after(state, "")
        leads: dict[str, list[str]] = {}
        for letter in sorted({*BLANKS, *self._letters(state)}):
            after = self._after(state, letter)
            if after != others:
                leads.setdefault(self._rule(after), []).append(letter)
        for rule, letters in leads.items():
            if rule:
                yield f"{char_class(letters)} {rule}"
        known = [letter for letters in leads.values() for letter in letters]
        yield f"{char_class(known, others=True)} {self._rule(others)}"

    def _rule(self, after: _State | Beginning) -> str:
        return after.rule if isinstance(after, Beginning) else self._name(after)

    def _letters(self, state: _State) -> Iterator[str]:
        """The letters that a beginning may go on with; all others lead to one state."""
        for at in self._open(state):
            yield from self._nodes[at].letters

    def _after(self, state: _State, letter: str) -> _State | Beginning:
        """Where a letter leads: to another state, or a beginning ends with it.

        "" is any letter that no beginning has.
        """
        seen: set[int] = set()
        for at in self._open(state):
            if (following := self._nodes[at].letters.get(letter)) is not None:
                seen.add(self._skipped(following))
            if at in self._behind_blanks and letter and letter in BLANKS:
                seen.add(at)
        if ended := [end for at in seen if (end := self._nodes[at].ends) is not None]:
            return self._beginnings[min(ended)]
        return _State(frozenset(seen), self._place_only(_next_place(state.place, letter)).place)

    def _skipped(self, at: int) -> int:
        """The place behind blanks where nothing else may follow: that is not a state of its own."""
        node = self._nodes[at]
        return at if node.blanks is None or node.letters else node.blanks

    def _open(self, state: _State) -> Iterator[int]:
        """The places that beginnings are at, those that blanks may be skipped to among them."""
        for at in {*state.seen, *self._new(state.place)}:
            yield at
            if (behind := self._nodes[at].blanks) is not None:
                yield behind

    def _new(self, place: _Place) -> Iterator[int]:
        """Where beginnings begin that may begin here."""
        for where, root in self._roots.items():
            begins_line = where == "line" and place != "inside"
            if where in ("anywhere", place) or begins_line:
                yield root

    def _place_only(self, place: _Place) -> _State:
        if place == "start" and "start" not in self._roots:
            place = "line"
        if place == "line" and "line" not in self._roots:
            place = "inside"
        return _State(frozenset(), place)


def _next_place(place: _Place, letter: str) -> _Place:
    if place == "start" and letter and letter in BLANKS:
        return "start"
    if letter == "\n" or (place == "line" and letter in (" ", "\t")):
        return "line"
    return "inside"


MOST_CALLS = 8
"""Calls in an answer: a small model would go on with the same call up to its last token."""

_NAMED = ("{", BLANKS, *'"name"', BLANKS, ":", BLANKS, '"')
_NAMED_IN_LIST = ("[", BLANKS, *_NAMED)
_NAME_KEY = literal('"name"')
_SEVERAL: frozenset[Style] = frozenset({"tags", "list"})


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
            # Making the call validates its arguments; the model gets what is wrong.
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


MOST_TOOLS = 1_000
"""What a request may offer: OpenAI takes 128, and the context of a local model holds fewer."""


@dataclass(frozen=True, slots=True)
class TurnGrammar:
    """What a turn is held to.

    Attributes:
        grammar: GBNF; None if anything may be written.
        leaves_text: Whether free text is among what may be written.
    """

    grammar: str | None = None
    leaves_text: bool = False


def turn_grammar(
    tools: Sequence[LocalTool],
    style: Style,
    *,
    callable_names: frozenset[str],
    forced: bool = False,
    several: bool = True,
    answer: str | None = None,
    begun: str = "",
) -> TurnGrammar:
    """Return the grammar of a turn.

    Args:
        tools: Those that the model reads about.
        style: How it writes calls.
        callable_names: Those of them that it may call; none makes calls impossible.
        forced: Whether the turn has to be a call.
        several: Whether it may be several calls, where the style has a place for them.
        answer: GBNF of the answer; None if it is free text.
        begun: The answer's beginning, which is written on.

    Raises:
        InputError: There are too many tools, or their grammar would be too large.
    """
    if len(tools) > MOST_TOOLS:
        raise InputError(
            f"The request has {len(tools):,} tools; a local model takes {MOST_TOOLS:,} at most.",
            "Offer fewer tools.",
        )
    if not tools:
        return TurnGrammar(answer)
    may_call = [tool for tool in tools if tool.name in callable_names]
    calls = CallRules(may_call or tools, style, several=several)
    if may_call and forced:
        return TurnGrammar(calls.rules.grammar(calls.whole))
    if answer is not None and not may_call:
        return TurnGrammar(answer)
    if answer is not None:
        own = with_prefix(answer, "answer-")
        return TurnGrammar(calls.rules.grammar(f"answer-root | {calls.whole}", own))
    beginnings = calls.beginnings() if may_call else calls.forbidden()
    name, lines = free_text(beginnings, begun)
    return TurnGrammar(calls.rules.grammar(name, *lines), leaves_text=True)
