"""JSON Schema as a grammar of llama.cpp. Pure.

What a schema allows is never widened without need: a property that it doesn't name isn't written,
and what a grammar can't say (a `pattern`, `not`, `uniqueItems`, long bounds) is left to whoever
validates the value.
"""

from .convert import schema_grammar, schema_rule
from .rules import Rules

__all__ = ["Rules", "schema_grammar", "schema_rule"]
