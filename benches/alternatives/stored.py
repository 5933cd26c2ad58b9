"""What a run's files hold: answers, tokens, money."""

from __future__ import annotations

import base64
import re
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .scripted import INPUT_TOKENS, OUTPUT_TOKENS

__all__ = ["Stored", "contents", "read_stored"]

_MOST_REQUESTS = 40
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")
_MONEY = re.compile(rb'"?(?:money_usd|cost_usd|total_price|total_cost)"?\W{1,4}0*\.?0*[1-9]')
_SQLITE = b"SQLite format 3"


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
    for content in files:
        whole = content + b"".join(_decoded(content))
        answers |= sample.encode() in whole
        tokens |= _TOKENS.search(whole) is not None
        money |= _MONEY.search(whole) is not None
    return Stored(answers, tokens, money)


def _tokens() -> re.Pattern[bytes]:
    """The tokens of one request and of several, as text, and as msgpack and pickle have them."""
    wholes = (INPUT_TOKENS, OUTPUT_TOKENS, INPUT_TOKENS + OUTPUT_TOKENS)
    totals = [str(whole * times).encode() for whole in wholes for times in range(1, _MOST_REQUESTS)]
    # Not within a longer number, such as a time.
    text = rb"(?<![\w.])(?:%s)(?!\w)" % b"|".join(totals)
    packed = [b"\xcd" + struct.pack(">H", whole) for whole in wholes]
    pickled = [b"M" + struct.pack("<H", whole) for whole in wholes]
    return re.compile(b"|".join([text, *(re.escape(number) for number in [*packed, *pickled])]))


def _decoded(content: bytes) -> Iterable[bytes]:
    # Some wrap it, and write the wrapping into JSON.
    for found in _BASE64.finditer(content.replace(b"\\n", b"").replace(b"\n", b"")):
        text = found.group().rstrip(b"=")
        yield base64.b64decode(text[: len(text) // 4 * 4])


def contents(folder: Path) -> Iterator[bytes]:
    """Read the files of a folder; of a database of SQLite, its values, for pages would cut them."""
    for path in folder.rglob("*"):
        if not path.is_file() or path.name.endswith(("-wal", "-shm")):
            continue
        content = path.read_bytes()
        yield from _values(path) if content.startswith(_SQLITE) else [content]


def _values(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = bytes
        names = database.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (name,) in names:
            quoted = name.decode().replace('"', '""')
            for row in database.execute(f'select * from "{quoted}"'):  # noqa: S608 - its own names
                # One by one: base64 must begin where it begins.
                yield from (v if isinstance(v, bytes) else str(v).encode() for v in row)


_TOKENS = _tokens()
