"""The tools of a corpus: a search over titles and texts, and opening a page."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from .world import Page

__all__ = ["HITS", "OPEN_S", "SEARCH_S", "Corpus"]

SEARCH_S, OPEN_S = 1.5, 1.0
"""Virtual seconds of a call."""
HITS = 12
_TITLE = 2.0
"""How much more a word of the title counts."""
_WORD = re.compile(r"\w+")


class Corpus:
    """Pages, found by the rarity of the words that they share with a query."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = {page.id: page for page in pages}
        self._weights: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for page in pages:
            counted = Counter(dict.fromkeys(_words(page.text), 1.0))
            counted.update(dict.fromkeys(_words(page.title), _TITLE))
            for word, weight in counted.items():
                self._weights[word][page.id] = weight
        self._rarity = {
            word: math.log(1 + len(pages) / len(found)) for word, found in self._weights.items()
        }

    def search(self, query: str) -> str:
        """Return the titles of the pages that fit best, a line each."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in set(_words(query)):
            for page, weight in self._weights.get(word, {}).items():
                scores[page] += weight * self._rarity[word]
        best = heapq.nsmallest(HITS, scores, key=lambda page: (-scores[page], page))
        return "\n".join(f"[{page}] {self._pages[page].title}" for page in best) or "Nothing found."

    def open(self, page: str) -> str:
        """Return a page."""
        found = self._pages.get(page)
        return f"[{page}] {found.title}\n\n{found.text}" if found else f"There is no page {page}."


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
