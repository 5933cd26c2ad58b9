"""Registers that put words around an objective or between its sentences. Pure."""

from __future__ import annotations

import random
import re

from ..generating.marked import MARK, Marked
from .distractors import AFTER, ANYWHERE, BEFORE
from .imperatives import DETERMINERS, IMPERATIVES, NOUNS

__all__ = ["ask_politely", "break_lines", "chat", "hurry", "leave_open", "thank"]

_ITEM = re.compile(r"(?:-|\d+\.) ")
_ENDS = re.compile(r"[.?!…]['\"”)]?$")
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)(?<=[.?!]) (?=\S)")


def ask_politely(objective: Marked, rng: random.Random) -> None:
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


def hurry(objective: Marked, rng: random.Random) -> None:
    """Say that it is urgent."""
    if _ends_in_list(objective.text):
        _append(objective, rng.choice(("ASAP please.", "asap!", "Urgent!", "It's urgent.")), "\n")
        return
    text = objective.text
    end = text[-1] if text[-1:] in (".", "!", "?") else ""
    word = rng.choice((" asap", " asap", " ASAP", ", asap", ", ASAP please", " - it's urgent"))
    objective.text = f"{text.removesuffix(end)}{word}{end}"


def break_lines(objective: Marked, rng: random.Random) -> None:
    """Put sentences on lines of their own."""
    objective.text = _SENTENCE_END.sub(rng.choice(("\n", "\n\n")), objective.text)


def chat(objective: Marked, rng: random.Random) -> None:
    """Add small talk before or after, or both."""
    where = rng.choice(("before", "before", "after", "after", "both"))
    said = ""
    if where != "after":
        said = rng.choice(BEFORE + ANYWHERE)
        between = "\n" if said.endswith(",") or _ITEM.match(objective.text) else " "
        between = rng.choice((between, between, between, "\n"))
        objective.text = f"{said}{between}{objective.text}"
    if where != "before":
        closing = rng.choice(tuple(one for one in AFTER + ANYWHERE if one != said))
        _append(objective, closing, rng.choice((" ", " ", " ", "\n")))


def thank(objective: Marked, rng: random.Random) -> None:
    """Say thanks at the end."""
    said = ("Thanks!", "Thanks.", "thanks", "Thank you!", "Thank you.", "thx", "Cheers!", "Ta!")
    _append(objective, rng.choice(said), rng.choice((" ", " ", "\n")))


def leave_open(objective: Marked, _rng: random.Random) -> None:
    """Leave out the final full stop, question mark or exclamation mark."""
    objective.text = re.sub(r"(?<!\.)(?<!etc)[.?!]$", "", objective.text)


def _append(objective: Marked, said: str, between: str) -> None:
    text = objective.text
    if _ends_in_list(text):
        objective.text = f"{text}\n{said}"
    else:
        stop = "" if _ENDS.search(text) or between == "\n" else "."
        objective.text = f"{text}{stop}{between}{said}"


def _ends_in_list(text: str) -> bool:
    *before, last = text.split("\n")
    return bool(before) and _ITEM.match(last) is not None
