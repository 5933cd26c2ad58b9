"""JSON as people write it by hand: with comments, and commas before a closing bracket. Pure."""

from __future__ import annotations

import re
from typing import Any

from ....formats.json_text import read_json

__all__ = ["parse_jsonc"]

# A text, a comment that ends with its line, a comment with an end of its own, or a comma. What has
# no end is taken as it goes on, so that nothing is looked at twice.
_PART = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|//[^\n]*|/\*(?:.*?\*/|.*)|,', re.DOTALL)
_BLANKS = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*")
_MARK = "\ufeff"


def parse_jsonc(text: str) -> Any:
    """Return the data of a JSON text that may have comments and trailing commas.

    Raises:
        NoJsonError: It is no such text, or has what readers understand differently, such as a key
            twice; says the line and the column.
    """
    text = _PART.sub(_blanked, text.removeprefix(_MARK))
    return read_json(_PART.sub(_without_trailing, text), halves=True)


def _blanked(found: re.Match[str]) -> str:
    """Put blanks in the place of a comment, so that lines and columns stay what they are."""
    part = found[0]
    is_open = part.startswith("/*") and (len(part) < 4 or not part.endswith("*/"))
    return _BLANKS.sub(" ", part) if part.startswith("/") and not is_open else part


def _without_trailing(found: re.Match[str]) -> str:
    if found[0] != ",":
        return found[0]
    text = found.string
    # What follows the last match of blanks is there, or the text has ended.
    after = _SPACE.match(text, found.end())
    closing = text[after.end() : after.end() + 1] if after else ""
    return " " if closing in ("}", "]") else ","
