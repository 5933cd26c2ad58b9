"""What changed between two texts. Pure."""

from __future__ import annotations

import difflib

__all__ = ["changed_lines"]

_MOST_CHARS = 60_000
_MOST_LINES = 2_000


def changed_lines(before: str, after: str) -> str:
    """Return a unified diff of two texts, without file names; "" if they are the same.

    Of texts that are very long, the beginnings alone are compared.
    """
    old, new = (text[:_MOST_CHARS].splitlines()[:_MOST_LINES] for text in (before, after))
    found = difflib.unified_diff(old, new, lineterm="", n=2)
    return "\n".join(list(found)[2:])
