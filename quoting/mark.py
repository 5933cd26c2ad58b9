"""The word that others' texts in one prompt stand between: one that none of them has. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import count

__all__ = ["mark_for"]

_SHORTEST = 6
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
# Invisible characters, control characters but tab and newline, and accents: with them inside, a
# word looks as it does without.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# Letters of other scripts that look like those of a mark.
_ALIKE = str.maketrans("аеіоυскгмпрѕтԁνɡɩαειοκμρτ", "aeiouckrmnpstdvgiaeiokmpt")


def mark_for(first: str, texts: Sequence[str]) -> str:
    """Return a word that none of the texts has, however they write it.

    It is made from the first text alone, so that prompts that begin alike stay alike: engines and
    providers keep what they have computed for a beginning. Where a text has that word, such as one
    that quotes a prompt, a longer one is made from all of them: a text that has it would hold a
    hash of itself.

    Args:
        first: The first of others' texts in the prompt.
        texts: All that stands in the prompt, ours too.
    """
    plain = [_plain(text) for text in texts]
    seed = _digest(first)
    for length in count(_SHORTEST, 2):
        mark = _word(seed, length)
        if not any(mark in text for text in plain):
            return mark
        seed = _digest(*texts, mark)
    raise AssertionError("count ends")  # pragma: no cover


def _plain(text: str) -> str:
    """A text as it looks: without accents and what isn't seen, in small letters of one script."""
    if text.isascii():
        return _UNSEEN.sub("", text.lower())
    folded = unicodedata.normalize("NFKD", text).casefold()
    return _UNSEEN.sub("", folded.translate(_ALIKE))


def _digest(*texts: str) -> bytes:
    made = hashlib.sha256()
    for text in texts:
        part = text.encode("utf-8", "surrogatepass")
        made.update(len(part).to_bytes(8, "big") + part)
    return made.digest()


def _word(seed: bytes, length: int) -> str:
    """A word of syllables, which is few tokens for a model: `kovuzi`."""
    numbers = hashlib.shake_256(seed).digest(length)
    return "".join(
        letters[number % len(letters)]
        for number, letters in zip(numbers, (_CONSONANTS, _VOWELS) * (length // 2), strict=True)
    )
