"""How a person says it: in lower case, in haste, politely, with typos, with small talk around.

Each register changes the words of the template alone. The text of slots, quoted strings, code, file
names and numbers stay as they are, since the plan repeats them. Pure but for the random choices.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .distractors import AFTER, ANYWHERE, BEFORE
from .imperatives import IMPERATIVES
from .marked import MARK, Marked, SlotText
from .wording import OFTEN, OTHER_SPELLING, SHORT

__all__ = ["PLAIN", "REGISTERS", "dress"]

PLAIN = 0.55
"""Share of the objectives that stay as their template says them."""

Register = Callable[[Marked, random.Random], None]

_KEPT = rf"{MARK}|\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|\S*[\d_@/\\#]\S*|\w+\.\w\S*"
_WORD = re.compile(rf"(?P<kept>{_KEPT})|(?P<word>[A-Za-z]+(?:['’-][A-Za-z]+)*)")
_ITEM = re.compile(r"(?:-|\d+\.) ")
_ENDS = re.compile(r"[.?!…]['\"”)]?$")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)(?<=[.?!])[ ](?=\S)")
_SIMPLE = re.compile(r"(?:[A-Z]?[a-z'’]+|[A-Z])(?:[ -](?:[A-Z]?[a-z'’]+|[A-Z]))*")


def dress(objective: Marked, rng: random.Random) -> str:
    """Return an objective as somebody might say it; most often it stays plain."""
    if rng.random() < PLAIN:
        return objective.plain()
    chosen: list[Register] = []
    while not chosen:
        chosen = [register for chance, register in REGISTERS if rng.random() < chance]
    dressed = Marked(objective.text, list(objective.slots))
    for register in chosen:
        register(dressed, rng)
    return dressed.plain()


def other_spelling(objective: Marked, _rng: random.Random) -> None:
    """Swap British for American spelling, or the other way."""
    _each_word(objective, lambda word: OTHER_SPELLING.get(word, word))


def shorten(objective: Marked, rng: random.Random) -> None:
    """Abbreviate some words wherever they stand."""
    there = sorted({word.lower() for word in _words(objective)} & SHORT.keys())
    if there:
        taken = set(rng.sample(there, rng.randint(1, min(3, len(there)))))
        _each_word(objective, lambda word: SHORT[word] if word in taken else word)


def ask_politely(objective: Marked, rng: random.Random) -> None:
    """Put a polite phrase before a verb, or `please` after a single sentence."""
    text = objective.text
    first = re.match(r"[A-Za-z-]+(?=[\s:])", text)
    if first is None or first[0].lower() not in IMPERATIVES:
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
    pattern = rf"[A-Za-z']+(?: [A-Za-z']+){{{count - 1}}}(?=[\s,:])"
    if match := re.match(pattern, objective.text):
        objective.text = match[0].upper() + objective.text[match.end() :]


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


def lower(objective: Marked, rng: random.Random) -> None:
    """Write everything in lower case; names in slots only sometimes, and never odd ones."""
    _each_word(objective, str.lower, keep_case=False)
    names = rng.random() < 0.4
    objective.slots = [_lowered(slot, names=names) for slot in objective.slots]


def _lowered(slot: SlotText, *, names: bool) -> SlotText:
    simple = names and _SIMPLE.fullmatch(slot.low)
    return SlotText(slot.low.lower() if simple else slot.low, slot.low)


REGISTERS: tuple[tuple[float, Register], ...] = (
    (0.12, other_spelling),
    (0.16, shorten),
    (0.30, ask_politely),
    (0.05, shout),
    (0.25, mistype),
    (0.06, hurry),
    (0.28, chat),
    (0.12, thank),
    (0.12, break_lines),
    (0.30, leave_open),
    (0.30, lower),
)
"""Every register and its chance where an objective isn't plain, in the order they are applied."""


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
