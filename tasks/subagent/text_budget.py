"""Bound several texts together. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...text import BYTES_PER_TOKEN, tokens_of

__all__ = [
    "BYTES_PER_TOKEN",
    "EXPLANATION_TOKENS",
    "MARKS_TOKENS",
    "cut",
    "cut_tokens",
    "shares",
    "tokens_of",
]

MARKS_TOKENS, EXPLANATION_TOKENS = 7, 30
"""Tokens, as they are estimated, of the marks around a text in a prompt, and of what is said of
them."""
_SHORT = 60  # below this a count of what was left out would take more than it tells


def shares(lengths: Sequence[int], limit: int) -> list[int]:
    """Divide `limit` tokens or characters among texts so that none is cut before a longer one is.

    Each gets an even share; what short ones leave over goes to the others.
    """
    given = [0] * len(lengths)
    left = max(0, limit)
    by_length = sorted(range(len(lengths)), key=lambda n: lengths[n])
    for done, n in enumerate(by_length):
        given[n] = min(lengths[n], left // (len(lengths) - done))
        left -= given[n]
    return given


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters, saying how many were left out."""
    if len(text) <= limit:
        return text
    mark = f" … [{len(text) - limit} more characters]" if limit >= _SHORT else "…"
    return text[: max(0, limit - len(mark))].rstrip() + mark[: max(0, limit)]


def cut_tokens(text: str, limit: int) -> str:
    """Return the text in at most `limit` tokens, as they are estimated."""
    tokens = tokens_of(text)
    if tokens <= limit:
        return text
    # Not all characters have as many bytes; what is cut too little is cut again.
    characters = len(text) * limit // tokens
    while tokens_of(shorter := cut(text, characters)) > limit and characters:
        characters = characters * 9 // 10
    return shorter if characters else ""
