"""Noise that changes words: spelling, abbreviations, typos and capitals. Pure.

The text of slots, quoted strings, code, file names and numbers stay as they are, since the plan
repeats them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from ..generating.marked import MARK, MarkedText, SlotText
from .wording import ABBREVIATIONS, COMMON_WORDS, OTHER_SPELLING

__all__ = ["lower_case", "mistype", "shorten", "shout", "swap_spelling"]

_UNCHANGED = rf"{MARK}|\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|\S*[\d_@/\\#]\S*|\w+\.\w\S*"
_WORD = re.compile(rf"(?P<unchanged>{_UNCHANGED})|(?P<word>[A-Za-z]+(?:['’-][A-Za-z]+)*)")
_SIMPLE = re.compile(r"(?:[A-Z]?[a-z'’]+|[A-Z])(?:[ -](?:[A-Z]?[a-z'’]+|[A-Z]))*")


def swap_spelling(objective: MarkedText, _rng: random.Random) -> None:
    """Swap British for American spelling, or the other way."""
    _change_words(objective, lambda word: OTHER_SPELLING.get(word, word))


def shorten(objective: MarkedText, rng: random.Random) -> None:
    """Abbreviate some words everywhere in the text."""
    candidates = sorted({word.lower() for word in _words(objective)} & ABBREVIATIONS.keys())
    if candidates:
        chosen = set(rng.sample(candidates, rng.randint(1, min(3, len(candidates)))))
        _change_words(objective, lambda word: ABBREVIATIONS[word] if word in chosen else word)


def mistype(objective: MarkedText, rng: random.Random) -> None:
    """Swap, drop or double a letter in one to three common words."""
    words = [
        match.span()
        for match in _WORD.finditer(objective.text)
        if match["word"] and len(match[0]) > 2 and match[0].lower() in COMMON_WORDS
    ]
    chosen = rng.sample(words, min(len(words), rng.choice((1, 1, 2, 3))))
    for start, end in sorted(chosen, reverse=True):
        wrong = _add_typo(objective.text[start:end], rng)
        objective.text = objective.text[:start] + wrong + objective.text[end:]


def _add_typo(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word))
    typos = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    if at + 1 < len(word):
        typos.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    wrong = rng.choice(typos)
    # A typo that gives another common word, `then` to `the`, could change the task.
    return word if wrong.lower() in COMMON_WORDS else wrong


def shout(objective: MarkedText, rng: random.Random) -> None:
    """Write the first word or two in capitals."""
    count = rng.choice((1, 1, 2))
    pattern = rf"[A-Za-z']+(?: [A-Za-z']+){{0,{count - 1}}}(?=[\s,:])"
    if match := re.match(pattern, objective.text):
        objective.text = match[0].upper() + objective.text[match.end() :]


def lower_case(objective: MarkedText, rng: random.Random) -> None:
    """Write everything in lower case; simple names in slots only sometimes, others never."""
    _change_words(objective, str.lower, keep_case=False)
    names = rng.random() < 0.4
    objective.slots = [_lower_slot(slot, names=names) for slot in objective.slots]


def _lower_slot(slot: SlotText, *, names: bool) -> SlotText:
    simple = names and _SIMPLE.fullmatch(slot.uncapitalised)
    return SlotText(
        slot.uncapitalised.lower() if simple else slot.uncapitalised, slot.uncapitalised
    )


def _words(objective: MarkedText) -> list[str]:
    return [match["word"] for match in _WORD.finditer(objective.text) if match["word"]]


def _change_words(
    objective: MarkedText, change: Callable[[str], str], *, keep_case: bool = True
) -> None:
    """Apply `change` to every word that may change, in lower case."""

    def replace(match: re.Match[str]) -> str:
        word = match["word"]
        if not word:
            return match[0]
        new = change(word.lower())
        if not keep_case:
            return new
        if new == word.lower():
            return word
        return new[0].upper() + new[1:] if word[0].isupper() else new

    objective.text = _WORD.sub(replace, objective.text)
