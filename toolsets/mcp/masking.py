"""Texts of a server without what its configuration keeps secret. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["masked"]

_MASK = "•••"
_SHORTEST = 6
"""Shorter values, such as `1` and `true`, are no secrets, and are in many texts."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text with a mask in the place of each secret, the longest first."""
    for secret in sorted({*_parts(secrets)}, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def _parts(secrets: Iterable[str]) -> Iterator[str]:
    for secret in secrets:
        # A header begins with how it is to be read, and a server may repeat the rest alone.
        yield from (part for part in (secret, secret.partition(" ")[2]) if len(part) >= _SHORTEST)
