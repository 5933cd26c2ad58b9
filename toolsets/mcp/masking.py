"""Texts of a server without what its configuration keeps secret. Pure."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["masked"]

_MASK = "•••"
_SHORTEST = 6
"""Shorter values, such as `1` and `true`, are no secrets, and are in many texts."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text with a mask in the place of each secret, the longest first."""
    for secret in sorted({value for value in secrets if len(value) >= _SHORTEST}, key=len)[::-1]:
        text = text.replace(secret, _MASK)
        # A header says how it is to be read, and a server may repeat the rest alone.
        _, blank, rest = secret.partition(" ")
        if blank and len(rest) >= _SHORTEST:
            text = text.replace(rest, _MASK)
    return text
