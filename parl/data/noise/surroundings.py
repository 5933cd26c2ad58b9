"""Noise that adds words around an objective or line breaks between its sentences. Pure."""

from __future__ import annotations

import random
import re

from ..generating.marked import MARK, MarkedText
from .distractors import AFTER, ANYWHERE, BEFORE
from .wording import DETERMINERS, IMPERATIVES, NOUNS

__all__ = [
    "add_small_talk",
    "add_thanks",
    "add_urgency",
    "ask_politely",
    "break_lines",
    "drop_end_mark",
]

_ITEM = re.compile(r"(?:-|\d+\.) ")
_END_MARK = re.compile(r"[.?!…]['\"”)]?$")
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)(?<=[.?!]) (?=\S)")


def ask_politely(objective: MarkedText, rng: random.Random) -> None:
    """Put a polite phrase before a verb, or `please` after a single sentence."""
    text = objective.text
    if not _begins_with_verb(text):
        return
    single = "\n" not in text and not _SENTENCE_END.search(text)
    if single and not text.endswith("?") and rng.random() < 0.15:
        end = text[-1] if text[-1] in ".!" else ""
        objective.text = f"{text.removesuffix(end)}, please{end}"
        return
    phrase, is_question = rng.choice(_POLITE)
    text = f"{phrase} {text[0].lower()}{text[1:]}"
    if is_question and single and rng.random() < 0.7:
        text = f"{text.removesuffix('.')}?" if not text.endswith(("?", "!")) else text
    objective.text = text


def _begins_with_verb(text: str) -> bool:
    first = re.match(r"(?P<verb>[A-Za-z-]+)[\s:](?P<next>\S[\w]*)", text)
    if first is None or first["verb"].lower() not in IMPERATIVES:
        return False
    # `Test coverage of` and `Report comment,` begin with nouns.
    verb = first["verb"].lower() not in NOUNS or first["next"].lower() in DETERMINERS
    return verb or re.match(MARK, first["next"]) is not None


_POLITE = (
    *((phrase, False) for phrase in (
        "Please", "Please", "please", "Pls", "Kindly", "I need you to", "I'd like you to",
        "I want you to", "I would like you to", "Help me:", "Next task:", "New task:", "Task:",
        "Your job is to", "Hey, please", "Hi! Please", "We need you to", "Okay,", "Now",
        "What I need: ", "I'd be glad if you would", "Be so kind and", "First thing today:",
    )),
    *((phrase, True) for phrase in (
        "Can you", "can you", "Could you", "Could you please", "can you please", "Would you",
        "Hey, could you", "hey can you", "Hi, can you", "Would you mind helping me out? Can you",
        "Any chance you could", "Do you think you could", "Is it possible that you", "Could u",
        "Hello, would you", "Can somebody", "Will you", "May I ask you to", "Can I get you to",
    )),
)  # fmt: skip


def add_urgency(objective: MarkedText, rng: random.Random) -> None:
    """Add that it is urgent."""
    if _ends_in_list(objective.text):
        _append(objective, rng.choice(("ASAP please.", "asap!", "Urgent!", "It's urgent.")), "\n")
        return
    text = objective.text
    end = text[-1] if text[-1:] in (".", "!", "?") else ""
    word = rng.choice((" asap", " asap", " ASAP", ", asap", ", ASAP please", " - it's urgent"))
    objective.text = f"{text.removesuffix(end)}{word}{end}"


def break_lines(objective: MarkedText, rng: random.Random) -> None:
    """Put each sentence on its own line."""
    objective.text = _SENTENCE_END.sub(rng.choice(("\n", "\n\n")), objective.text)


def add_small_talk(objective: MarkedText, rng: random.Random) -> None:
    """Add small talk before or after, or both."""
    where = rng.choice(("before", "before", "after", "after", "both"))
    opening = ""
    if where != "after":
        opening = rng.choice(BEFORE + ANYWHERE)
        separator = "\n" if opening.endswith(",") or _ITEM.match(objective.text) else " "
        separator = rng.choice((separator, separator, separator, "\n"))
        objective.text = f"{opening}{separator}{objective.text}"
    if where != "before":
        closing = rng.choice(
            tuple(sentence for sentence in AFTER + ANYWHERE if sentence != opening)
        )
        _append(objective, closing, rng.choice((" ", " ", " ", "\n")))


def add_thanks(objective: MarkedText, rng: random.Random) -> None:
    """Add thanks at the end."""
    thanks = ("Thanks!", "Thanks.", "thanks", "Thank you!", "Thank you.", "thx", "Cheers!", "Ta!")
    _append(objective, rng.choice(thanks), rng.choice((" ", " ", "\n")))


def drop_end_mark(objective: MarkedText, _rng: random.Random) -> None:
    """Remove the final full stop, question mark or exclamation mark."""
    objective.text = re.sub(r"(?<!\.)(?<!etc)[.?!]$", "", objective.text)


def _append(objective: MarkedText, addition: str, separator: str) -> None:
    text = objective.text
    if _ends_in_list(text):
        objective.text = f"{text}\n{addition}"
    else:
        stop = "" if _END_MARK.search(text) or separator == "\n" else "."
        objective.text = f"{text}{stop}{separator}{addition}"


def _ends_in_list(text: str) -> bool:
    *before, last = text.split("\n")
    return bool(before) and _ITEM.match(last) is not None
