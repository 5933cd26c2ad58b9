"""Names as words, so that different spellings of a name are equal. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["skill", "spelling"]

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
# Words for rank or role, which don't say what the work is.
_RANK = re.compile(
    r"a|ai|an|agent|and|assistant|careful|certified|chief|dedicated|diligent|experienced|expert|"
    r"for|in|junior|lead|meticulous|of|principal|professional|senior|skilled|specialist|sub|"
    r"subagent|the|thorough"
)


@lru_cache(4096)
def spelling(name: str) -> str:
    """Return a name's words, separated by spaces: `FactChecker` and `fact-checker` are equal."""
    apart = _CAMEL.sub(" ", unicodedata.normalize("NFKC", name))
    return " ".join(_british(word) for word in _WORD.findall(apart.casefold()))


@lru_cache(4096)
def skill(name: str) -> frozenset[str]:
    """Return the words that say what the work is; rank, order and plurals don't count."""
    return frozenset(
        _singular(word) for word in spelling(name).split() if not _RANK.fullmatch(word)
    )


def _british(word: str) -> str:
    return re.sub(r"(?<=[a-z]{3})([iy])z(?=er|ed|ing|ation|e$)", r"\1s", word)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word
