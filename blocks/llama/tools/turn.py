"""One turn of a model that has tools: an answer or calls, under a single grammar. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import InputError
from ..api import LocalTool
from ..schemas.rules import with_prefix
from .free_text import free_text
from .grammar import CallRules
from .render import Style

__all__ = ["TurnGrammar", "turn_grammar"]


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
