"""A text that records which of its parts came from slots.

A slot is one private-use character in the text, and its own text is stored apart. So functions that
change the template's words leave the slots' words as they are. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["MARK", "MarkedText", "SlotText"]

_BASE = 0xE000
MARK = "[\ue000-\uf8ff]"
"""Regular expression that matches a slot's mark."""

_MARKS = re.compile(MARK)
_ARTICLE = re.compile(rf"\b([Aa])n? (?={MARK})")
_SPACES = ((re.compile(r"[ \t]+"), " "), (re.compile(r" ?\n ?"), "\n"))
_BEFORE_STOP = re.compile(r" (?=[,.;:?!](?:\s|$))")
_CONSONANT_SOUND = re.compile(r"(?:uni|use|usu|u[bkrt][aeio]|eu|ewe|one\b|once\b)", re.IGNORECASE)
_MUTE_H = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_INITIALISM = re.compile(r"[A-Z]{2,}(?![a-z])")


@dataclass(frozen=True, slots=True)
class SlotText:
    """A slot's text; `uncapitalised` is the same without a capital for a sentence's start."""

    text: str
    uncapitalised: str


@dataclass
class MarkedText:
    """A text with marks among its words, and the slots that the marks stand for."""

    text: str = ""
    slots: list[SlotText] = field(default_factory=list[SlotText])

    def add_slot(self, text: str, uncapitalised: str | None = None) -> None:
        """Append a slot's text."""
        self.text += chr(_BASE + len(self.slots))
        self.slots.append(SlotText(text, text if uncapitalised is None else uncapitalised))

    def slot(self, mark: str) -> SlotText:
        """Return the slot a mark stands for."""
        return self.slots[ord(mark) - _BASE]

    def plain_text(self) -> str:
        """Return the text with the slots in their places."""
        return _MARKS.sub(lambda match: self.slot(match[0]).text, self.text)

    def tidy(self) -> None:
        """Correct the spaces, `a` before a vowel and the first capital."""
        for pattern, replacement in _SPACES:
            self.text = pattern.sub(replacement, self.text)
        self.text = _BEFORE_STOP.sub("", self.text.strip())
        self.text = _ARTICLE.sub(self._article, self.text)
        if not _MARKS.match(self.text) or self._begins_with_a_plain_slot():
            self.capitalise(0)

    def _article(self, match: re.Match[str]) -> str:
        following = self.slot(self.text[match.end()]).text
        return f"{match[1]}{'n' if _starts_with_vowel_sound(following) else ''} "

    def _begins_with_a_plain_slot(self) -> bool:
        return re.match(r"[a-z]+(?:[ ,]|$)", self.slot(self.text[0]).text) is not None

    def capitalise(self, at: int) -> None:
        """Give the word at an index a capital."""
        first = self.text[at : at + 1]
        if not _MARKS.match(first):
            self.text = self.text[:at] + first.upper() + self.text[at + 1 :]
        else:
            old = self.slot(first)
            text = old.text[:1].upper() + old.text[1:]
            self.slots[ord(first) - _BASE] = SlotText(text, old.uncapitalised)


def _starts_with_vowel_sound(text: str) -> bool:
    """Say whether a text takes `an` instead of `a`."""
    word = text.lstrip("\"'“‘(")
    if _INITIALISM.match(word) and not re.match(r"[A-Z]*[AEIO][A-Z]", word[1:]):
        return word[0] in "AEFHILMNORSX"
    if _CONSONANT_SOUND.match(word):
        return False
    if word[:1].isdigit():
        return bool(re.match(r"8|1[18]\b", word))
    return word[:1].lower() in "aeiou" or bool(_MUTE_H.match(word))
