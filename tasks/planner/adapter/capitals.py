"""The letters that a name or a prompt may begin with, as a class of characters in GBNF. Pure."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["CAPITALS"]

# From Latin to Mongolian, and Vietnamese. Between them are capitals that hardly any text has, and
# whose bytes a model would take where it is let.
_ALPHABETS = ((0xC0, 0x17F), (0x370, 0x1DFF), (0x1EA0, 0x1EFF))
_OTHERS = r"\u3041-\ua4cf\uac00-\ud7a3"
"""Japanese, Chinese, Yi and Korean."""


def _ranges(code_points: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Join ascending numbers that follow one another."""
    first = last = None
    for code_point in code_points:
        if first is None or last is None:
            first = last = code_point
        elif code_point == last + 1:
            last = code_point
        else:
            yield first, last
            first = last = code_point
    if first is not None and last is not None:
        yield first, last


def _begins(code_point: int) -> bool:
    return chr(code_point).isalpha() and not chr(code_point).islower()


def _capitals() -> str:
    code_points = (n for first, last in _ALPHABETS for n in range(first, last + 1))
    found = _ranges(filter(_begins, code_points))
    return "A-Z" + "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in found) + _OTHERS


CAPITALS = _capitals()
"""Common capitals, and letters of alphabets that have none.

A small model that would rather end its line takes a lone blank, behind which whole words are as
unlikely to it as single bytes of letters that it never uses. With `ı` or `Ƭ` among the letters it
took those, and wrote nothing else to the end.
"""
