"""A server's output as lines of bounded length. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["BoundedLines", "TooLong", "request_of"]

_ENDS = 200
"""Bytes that are kept of either end of a line that is too long."""
# Where the servers that there are write the id of what they answer: first, or last.
_FIRST = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_LAST = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


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


def request_of(line: TooLong) -> int | None:
    """Return the request that a line answers, if one of its ends says so for certain."""
    found = _FIRST.match(line.head) or _LAST.search(line.tail)
    return int(found[1]) if found else None
