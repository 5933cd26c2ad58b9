"""Counts that need no run: lines a user writes, answers paid for twice, answers lost."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .scripted import INPUT_TOKENS, OUTPUT_TOKENS, Request

__all__ = ["Stored", "count_lines", "paid_twice", "read_stored", "under_way"]

_MOST_REQUESTS = 40
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")


def count_lines(texts: Iterable[str]) -> int:
    """Count the lines that are neither empty nor a comment alone; a docstring is one."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def paid_twice(requests: Sequence[Request], killed_s: float) -> int:
    """Count the answers that were there before a kill and were asked for again after it."""
    before = {r.key for r in requests if r.answered_s is not None and r.answered_s < killed_s}
    return len(before & {r.key for r in requests if r.asked_s > killed_s})


def under_way(requests: Sequence[Request], killed_s: float) -> int:
    """Count the requests that had no answer when the kill came."""
    return sum(
        r.asked_s < killed_s and (r.answered_s is None or r.answered_s > killed_s) for r in requests
    )


@dataclass(frozen=True)
class Stored:
    """What the files that a run left hold."""

    answers: bool
    tokens: bool
    money: bool


def read_stored(files: Iterable[bytes], sample: str) -> Stored:
    """Look for an answer, for tokens and for money in what a run left.

    Args:
        files: The content of each file.
        sample: A text that only an answer has.
    """
    answers = tokens = money = False
    counts = _numbers()
    for content in files:
        whole = content + b"".join(_decoded(content))
        answers |= sample.encode() in whole
        tokens |= any(number in whole for number in counts)
        money |= re.search(rb'"?(?:money_usd|cost_usd|total_price)"?\W{1,4}0\.0*[1-9]', whole) is not None
    return Stored(answers, tokens, money)


def _numbers() -> list[bytes]:
    """The tokens of one request and of several, as text and as msgpack and pickle have them."""
    wholes = (INPUT_TOKENS, OUTPUT_TOKENS, INPUT_TOKENS + OUTPUT_TOKENS)
    totals = [whole * times for whole in wholes for times in range(1, _MOST_REQUESTS)]
    texts = [str(total).encode() for total in totals]
    packed = [b"\xcd" + struct.pack(">H", whole) for whole in wholes]
    pickled = [b"M" + struct.pack("<H", whole) for whole in wholes]
    return [*texts, *packed, *pickled]


def _decoded(content: bytes) -> Iterable[bytes]:
    for found in _BASE64.finditer(content):
        text = found.group().rstrip(b"=")
        yield base64.b64decode(text[: len(text) // 4 * 4])
