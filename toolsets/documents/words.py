"""The words of a text as an index keeps them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from zlib import crc32

__all__ = ["word_numbers", "words_of"]

_WORD = re.compile(r"\w+")
# Numbers, dates and what things are filed under count as a whole, too: 3.14, 2024-05-01, INV-20391.
_COMPOUND = re.compile(r"\b\w++(?:[-./:@#+]\w++)++")


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in small letters, and what is made up of several."""
    folded = text.casefold()
    return _WORD.findall(folded) + _COMPOUND.findall(folded)


def word_numbers(text: str) -> Counter[int]:
    """Return how often each word is there, by a number of 32 bits that stands for it."""
    counts = Counter(words_of(text))
    return Counter({_number(word): count for word, count in counts.items()})


def _number(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))
