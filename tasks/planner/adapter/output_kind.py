"""What a step of a plan in lines has to produce, by what its prompt asks for. Pure."""

from __future__ import annotations

import re

from ....task_ir import OutputKind

__all__ = ["output_kind"]

_MAKES = (
    r"(?:write|create|implement|build|make|code|develop|program|add|provide|give|generate|produce)"
)
_UP_TO = r"(?:\W+[\w'’.`-]+){0,6}?\W+"
_CODE = r"(?:function|class|script|program|module|decorator|generator|method|parser|tests?|code)"
_ABOUT = re.compile(
    r"\b(?:explain|describe|review|summari[sz]e|compare|translate|document|discuss|plan|estimate|"
    r"research|find out|say)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:python|pytest)\b{_UP_TO}{_CODE}\b"
    rf"|\b{_MAKES}\b{_UP_TO}{_CODE}\b.*\b(?:in python|with pytest|using pytest)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w+\.py\b"
    r"|\b(?:python|pytest)\W+(?:function|class|script|program|module|tests?)\b",
    re.IGNORECASE,
)
_SHELL = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:bash|shell|sh)\W+(?:script|function|one-liner|command)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w+\.sh\b",
    re.IGNORECASE,
)
_JSON = re.compile(rf"\b(?:as|in|return|{_MAKES})\b(?:\W+\w+){{0,3}}?\W+json\b", re.IGNORECASE)


def output_kind(prompt: str) -> OutputKind:
    """Return the kind of output that a prompt asks for; text where it isn't plainly another.

    A plan in lines doesn't say, since a small model that says it says it wrong. Taking code for
    text costs its gates; taking text for code would fail it.
    """
    if _ABOUT.match(prompt):
        return "text"
    if _PYTHON.search(prompt):
        return "python"
    if _SHELL.search(prompt):
        return "shell"
    return "json" if _JSON.search(prompt) else "text"
