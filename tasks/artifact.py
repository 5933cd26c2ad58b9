"""Take the artifact out of what a model wrote. Pure."""

from __future__ import annotations

import json
import re

from ..task_ir import OutputKind

__all__ = ["extract"]

_FENCES: dict[OutputKind, tuple[str, ...]] = {
    "json": ("json", ""),
    "python": ("python", "py", ""),
    "shell": ("sh", "bash", "shell", ""),
}
_BLOCK = re.compile(r"^```[ \t]*(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def extract(text: str, kind: OutputKind) -> str:
    """Return the artifact of that kind: the whole text, or its first fenced block of that language.

    Text and files stand as they were written, and so does JSON that parses as a whole.
    """
    if kind not in _FENCES or (kind == "json" and _is_json(text)):
        return text
    blocks = {language.lower(): body for language, body in reversed(_BLOCK.findall(text))}
    for language in _FENCES[kind]:
        if language in blocks:
            return blocks[language].strip("\n")
    return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        # Not JSON, or a number of thousands of digits, or thousands of brackets.
        return False
    return True
