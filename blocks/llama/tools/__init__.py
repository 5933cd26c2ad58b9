"""Tools for local models: what the prompt says of them, and the calls in an answer.

Rendering, grammars and parsing of calls, in the forms that model files know. Pure.
May be imported by `blocks.llama` and `serve`.
"""

from .grammar import call_grammar
from .held_text import HeldText
from .parse import ParsedAnswer, parse_answer
from .render import Style, style_of, without_tool_turns
from .turn import MOST_TOOLS, TurnGrammar, turn_grammar

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
