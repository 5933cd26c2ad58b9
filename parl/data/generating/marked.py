"""Texts that remember which of their parts came from slots.

A slot's text is held apart and stands in the text as one private-use character, so that whatever
changes the words of a template leaves the slots' own words as they are. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["MARK", "Marked", "SlotText"]

_BASE = 0xE000
MARK = "[\ue000-\uf8ff]"
"""The regular expression of a slot's mark."""

_MARKS = re.compile(MARK)
_ARTICLE = re.compile(rf"\b([Aa])n? (?={MARK})")
_SPACES = ((re.compile(r"[ \t]+"), " "), (re.compile(r" ?\n ?"), "\n"))
_BEFORE_STOP = re.compile(r" (?=[,.;:?!](?:\s|$))")
_CONSONANT = re.compile(r"(?:uni|use|usu|u[bkrt][aeio]|eu|ewe|one\b|once\b)", re.IGNORECASE)
_MUTE_H = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPELT = re.compile(r"[A-Z]{2,}(?![a-z])")


@dataclass(frozen=True, slots=True)
class SlotText:
    """A slot's text; `low` is what it was before a sentence's start gave it a capital."""

    text: str
    low: str


@dataclass
class Marked:
    """A text under construction: marks among plain words, and the slots they stand for."""

    text: str = ""
    slots: list[SlotText] = field(default_factory=list[SlotText])

    def add_slot(self, text: str, low: str | None = None) -> None:
        """Append a slot's text."""
        self.text += chr(_BASE + len(self.slots))
        self.slots.append(SlotText(text, text if low is None else low))

    def slot(self, mark: str) -> SlotText:
        """Return the slot a mark stands for."""
        return self.slots[ord(mark) - _BASE]

    def plain(self) -> str:
        """Return the text with the slots in their places."""
        return _MARKS.sub(lambda match: self.slot(match[0]).text, self.text)

    def tidy(self) -> None:
        """Repair what alternatives leave behind: spaces, `a` before a vowel, the first capital."""
        for pattern, instead in _SPACES:
            self.text = pattern.sub(instead, self.text)
        self.text = _BEFORE_STOP.sub("", self.text.strip())
        self.text = _ARTICLE.sub(self._article, self.text)
        if not _MARKS.match(self.text) or self._begins_with_a_plain_slot():
            self.capitalise(0)

    def _article(self, match: re.Match[str]) -> str:
        following = self.slot(self.text[match.end()]).text
        return f"{match[1]}{'n' if _sounds_open(following) else ''} "

    def _begins_with_a_plain_slot(self) -> bool:
        return re.match(r"[a-z]+(?:[ ,]|$)", self.slot(self.text[0]).text) is not None

    def capitalise(self, at: int) -> None:
        """Give the word that begins there a capital."""
        first = self.text[at : at + 1]
        if not _MARKS.match(first):
            self.text = self.text[:at] + first.upper() + self.text[at + 1 :]
        else:
            old = self.slot(first)
            text = old.text[:1].upper() + old.text[1:]
            self.slots[ord(first) - _BASE] = SlotText(text, old.low)


def _sounds_open(text: str) -> bool:
    """Say whether `an` goes before a text."""
    word = text.lstrip("\"'“‘(")
    if _SPELT.match(word) and not re.match(r"[A-Z]*[AEIO][A-Z]", word[1:]):
        return word[0] in "AEFHILMNORSX"
    if _CONSONANT.match(word):
        return False
    if word[:1].isdigit():
        return bool(re.match(r"8|1[18]\b", word))
    return word[:1].lower() in "aeiou" or bool(_MUTE_H.match(word))
