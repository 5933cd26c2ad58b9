"""Registers that change words: spellings, abbreviations, slips of the fingers, capitals. Pure.

The text of slots, quoted strings, code, file names and numbers stay as they are, since the plan
repeats them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from ..generating.marked import MARK, Marked, SlotText
from .wording import OFTEN, OTHER_SPELLING, SHORT

__all__ = ["lower", "mistype", "other_spelling", "shorten", "shout"]

_KEPT = rf"{MARK}|\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|\S*[\d_@/\\#]\S*|\w+\.\w\S*"
_WORD = re.compile(rf"(?P<kept>{_KEPT})|(?P<word>[A-Za-z]+(?:['’-][A-Za-z]+)*)")
_SIMPLE = re.compile(r"(?:[A-Z]?[a-z'’]+|[A-Z])(?:[ -](?:[A-Z]?[a-z'’]+|[A-Z]))*")


def other_spelling(objective: Marked, _rng: random.Random) -> None:
    """Swap British for American spelling, or the other way."""
    _each_word(objective, lambda word: OTHER_SPELLING.get(word, word))


def shorten(objective: Marked, rng: random.Random) -> None:
    """Abbreviate some words wherever they stand."""
    there = sorted({word.lower() for word in _words(objective)} & SHORT.keys())
    if there:
        taken = set(rng.sample(there, rng.randint(1, min(3, len(there)))))
        _each_word(objective, lambda word: SHORT[word] if word in taken else word)


def mistype(objective: Marked, rng: random.Random) -> None:
    """Swap, drop or double a letter in one to three common words."""
    spots = [
        match.span()
        for match in _WORD.finditer(objective.text)
        if match["word"] and len(match[0]) > 2 and match[0].lower() in OFTEN
    ]
    taken = rng.sample(spots, min(len(spots), rng.choice((1, 1, 2, 3))))
    for start, end in sorted(taken, reverse=True):
        wrong = _slip(objective.text[start:end], rng)
        objective.text = objective.text[:start] + wrong + objective.text[end:]


def _slip(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word))
    slips = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    if at + 1 < len(word):
        slips.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    wrong = rng.choice(slips)
    # A slip that makes another common word, `then` to `the`, could make another task.
    return word if wrong.lower() in OFTEN else wrong


def shout(objective: Marked, rng: random.Random) -> None:
    """Write the first word or two in capitals."""
    count = rng.choice((1, 1, 2))
    pattern = rf"[A-Za-z']+(?: [A-Za-z']+){{0,{count - 1}}}(?=[\s,:])"
    if match := re.match(pattern, objective.text):
        objective.text = match[0].upper() + objective.text[match.end() :]


def lower(objective: Marked, rng: random.Random) -> None:
    """Write everything in lower case; names in slots only sometimes, and never odd ones."""
    _each_word(objective, str.lower, keep_case=False)
    names = rng.random() < 0.4
    objective.slots = [_lowered(slot, names=names) for slot in objective.slots]


def _lowered(slot: SlotText, *, names: bool) -> SlotText:
    simple = names and _SIMPLE.fullmatch(slot.low)
    return SlotText(slot.low.lower() if simple else slot.low, slot.low)


def _words(objective: Marked) -> list[str]:
    return [match["word"] for match in _WORD.finditer(objective.text) if match["word"]]


def _each_word(objective: Marked, change: Callable[[str], str], *, keep_case: bool = True) -> None:
    """Change every word that isn't kept; `change` gets it in lower case where case is kept."""

    def instead(match: re.Match[str]) -> str:
        word = match["word"]
        if not word:
            return match[0]
        new = change(word.lower())
        if not keep_case:
            return new
        if new == word.lower():
            return word
        return new[0].upper() + new[1:] if word[0].isupper() else new

    objective.text = _WORD.sub(instead, objective.text)
