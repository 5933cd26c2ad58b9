"""Tools for local models: what the prompt says of them, and the calls in an answer.

Rendering, grammars and parsing of calls, in the forms that model files know. Pure.
"""

from .grammar import MOST_TOOLS, TurnGrammar, call_grammar, turn_grammar
from .parse import HeldText, ParsedAnswer, parse_answer
from .render import Style, style_of, without_tool_turns

__all__ = [
    "MOST_TOOLS",
    "HeldText",
    "ParsedAnswer",
    "Style",
    "TurnGrammar",
    "call_grammar",
    "parse_answer",
    "style_of",
    "turn_grammar",
    "without_tool_turns",
]
