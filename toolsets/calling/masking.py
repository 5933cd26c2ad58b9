"""Texts of tools as people are shown them: cut, and without secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["MASK", "mask"]

MASK = "…masked…"
_SHORTEST = 6
_KEYED = re.compile(
    r"""(?P<key>["']?[\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization|credential)"""
    r"""[\w-]*["']?\s*[:=]\s*)(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|(?:bearer\s+|basic\s+)?[^\s,;}&]+)""",
    re.IGNORECASE,
)
_KNOWN_FORMS = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)|(?<=[Bb]earer )[\w.~+/=-]{8,}"
)


def mask(text: str, secrets: Collection[str] = ()) -> str:
    """Return a text without secrets.

    Args:
        secrets: Values that must not be shown, such as those of a server's environment; shorter
            ones than six characters are words that texts have anyway.

    What stands behind a key such as `password`, and what has the form of a well-known key, is
    masked as well.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    text = _KEYED.sub(lambda found: f"{found['key']}{_quoted(found['value'])}", text)
    return _KNOWN_FORMS.sub(MASK, text)


def _quoted(value: str) -> str:
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{MASK}{quote}"
