"""JSON Schema as a grammar of llama.cpp. Pure.

What a schema allows is not widened without need. What a grammar can't say (`pattern`, `not`, long
bounds) is left to whoever validates the value.
"""

from .convert import schema_grammar, schema_rule
from .rules import Rules

__all__ = ["Rules", "schema_grammar", "schema_rule"]
