"""A server's output as lines of bounded length. Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["BoundedLines", "TooLong", "WholeText", "request_of", "with_whole_characters"]

_ENDS = 200
"""Bytes that are kept of either end of a line that is too long."""
# Where the servers that there are write the id of what they answer: first, or last.
_FIRST = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_LAST = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_BEGUN = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}"
)
_PAIR_LENGTH, _HALF_LENGTH = 12, 6


class TooLong(NamedTuple):
    """Both ends of a line that is too long, and its size in bytes."""

    head: bytes
    tail: bytes
    size: int


class BoundedLines:
    """Cuts bytes into lines; of what is too long it keeps the ends alone."""

    def __init__(self, most: int) -> None:
        """Take the most bytes of a line, its end not counted."""
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """Yield the lines that end in the next bytes, without their ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._take()
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._tail = (self._tail + part)[-_ENDS:]
        if self._size <= self._most:
            self._parts.append(part)
        else:
            # After the first time this is one short part, however many bytes follow.
            self._parts = [b"".join([*self._parts, part])[:_ENDS]]

    def _take(self) -> bytes | TooLong:
        line = b"".join(self._parts)
        taken = line if self._size <= self._most else TooLong(line, self._tail, self._size)
        self._parts, self._size, self._tail = [], 0, b""
        return taken


class WholeText:
    """Makes U+FFFD of what is no character in JSON: half a pair in an escape, or no UTF-8.

    Readers of JSON refuse a whole message for one of them.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Return the next bytes, but for an escape that has only begun at their end."""
        text = self._held + self._decoder.decode(chunk, final).encode()
        self._held = b""
        parts: list[bytes] = []
        place = 0
        while (escape := text.find(b"\\", place)) >= 0:
            parts.append(text[place:escape])
            found = text[escape : escape + _PAIR_LENGTH]
            if not final and len(found) < _PAIR_LENGTH and _BEGUN.fullmatch(found):
                self._held = found
                return b"".join(parts)
            if _PAIR.match(found):
                part, length = found, _PAIR_LENGTH
            elif _HALF.match(found):
                part, length = rb"\ufffd", _HALF_LENGTH
            else:
                part, length = found[:2], 2
            parts.append(part)
            place = escape + length
        return b"".join([*parts, text[place:]])


def with_whole_characters(line: bytes) -> bytes:
    """Return a line of JSON in which everything is a character."""
    return WholeText().feed(line, final=True)


def request_of(line: TooLong) -> int | None:
    """Return the request that a line answers, if one of its ends says so for certain."""
    found = _FIRST.match(line.head) or _LAST.search(line.tail)
    return int(found[1]) if found else None
