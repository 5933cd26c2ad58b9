"""Take the artifact out of what a model wrote. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from typing import Any

from ...blocks.answers.lenient_json import FoundJson, find_json, is_json
from ...task_ir import OutputKind

__all__ = ["Extraction", "extract"]

_FENCES: dict[OutputKind, tuple[str, ...]] = {
    "json": ("json", ""),
    "python": ("python", "py", "python3", ""),
    "shell": ("sh", "bash", "shell", ""),
}
_BLOCK = re.compile(
    r"^[ \t]*+```[ \t]*+(\w*+)[^\n]*+\n(.*?)(?:^[ \t]*+```|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(r"^[ \t]*+```[^\n]*+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Extraction:
    """An artifact, and the rule by which it was found."""

    artifact: str
    rule: str


def extract(text: str, kind: OutputKind, *, reasoning: str = "") -> Extraction:
    """Find the artifact of that kind.

    Text and files stand as they were written, and so do JSON and Python that parse as a whole. Else
    it is the first fenced block of the language, the first without a language, the JSON that stands
    within a text, the whole text. A block that is never closed ends with the text; one that is
    never opened begins with it.

    Args:
        text: What a model wrote, without its reasoning.
        kind: What it has to be.
        reasoning: The mark of reasoning that stood before it; the rule says so.
    """
    found = _extracted(text, kind)
    if not reasoning:
        return found
    return Extraction(found.artifact, f"{found.rule}, behind reasoning that began with {reasoning}")


def _extracted(text: str, kind: OutputKind) -> Extraction:
    if kind not in _FENCES:
        return Extraction(text, "whole text")
    if (kind == "json" and is_json(text)) or (kind == "python" and _is_python(text)):
        return Extraction(text, "whole text, which parses")
    if (unopened := _unopened(text, kind)) is not None:
        return Extraction(unopened, "text before a fence that closes nothing")
    blocks = {language.lower(): body for language, body in reversed(_BLOCK.findall(text))}
    for language in _FENCES[kind]:
        if language in blocks:
            rule = f"first {language} block" if language else "first block without a language"
            return Extraction(blocks[language].strip("\n"), rule)
    if kind == "json" and (found := _within(text)):
        return found
    return Extraction(text, "whole text, for want of a block")


def _within(text: str) -> Extraction | None:
    """Return the JSON in a text: its only object; of several the last, and lists without objects.

    What comes last is what the rest led to. An empty one, and a list of numbers as citations are,
    count only where there is nothing else.
    """
    found = find_json(text)
    telling = [each for each in found if _is_object(each.value) and each.value]
    telling = telling or [each for each in found if _tells(each)] or found
    if not telling:
        return None
    last = telling[-1]
    rule = "the only JSON within the text" if len(telling) == 1 else "last JSON within the text"
    return Extraction(text[last.start : last.end], rule)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _tells(found: FoundJson) -> bool:
    items: Any = found.value
    return bool(items) and not all(isinstance(item, int) for item in items)


def _unopened(text: str, kind: OutputKind) -> str | None:
    """Return the code before the only fence, where that can only be a closing one."""
    fences = _FENCE.findall(text)
    if len(fences) != 1 or fences[0].strip() != "```":
        return None
    before, _, after = text.partition(fences[0])
    before = before.strip("\n")
    is_code = {"json": is_json, "python": _is_python, "shell": _is_script}[kind]
    return before if before and (is_code(before) or not after.strip()) else None


def _is_script(text: str) -> bool:
    return text.startswith("#!")


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            # Such as an escape that Python doesn't know: whoever runs it will hear of it.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    # A single word parses too; a program does something.
    return any(not isinstance(node, ast.Expr) for node in tree.body)
