"""Tools for local models: what the prompt says of them, and the calls in an answer."""

from .grammar import call_grammar, schema_grammar
from .held_text import HeldText
from .parse import ParsedAnswer, parse_answer
from .render import Style, style_of, without_tool_turns

__all__ = [
    "HeldText",
    "ParsedAnswer",
    "Style",
    "call_grammar",
    "parse_answer",
    "schema_grammar",
    "style_of",
    "without_tool_turns",
]
