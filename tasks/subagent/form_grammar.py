"""The grammar that a local model writes an answer of a given form under. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...task_ir import Form, Output

__all__ = ["form_grammar"]

_LINE = r"[^\n\r]"
_GRAMMARS: Mapping[Form, str] = MappingProxyType(
    {
        "one_line": rf"root ::= {_LINE}+",
        "number": r'root ::= "-"? [0-9]{1,15} ("." [0-9]{1,15})?',
        "yes_no": rf'root ::= ("Yes" | "yes" | "No" | "no") ([.,] {_LINE}*)?',
        "list": r'root ::= entry ("\n" entry)*' + "\n" + rf'entry ::= "- " {_LINE}+',
    }
)
"""Each admits only what the `form` gate lets pass. A table is left to the model."""


def form_grammar(output: Output) -> str:
    """Return GBNF for the form that an output has to have, "" where it has none to be held to."""
    return _GRAMMARS.get(output.form, "") if output.form else ""
