"""A small model's typos, corrected where the objective leaves no doubt. Pure.

- `the cost ofgin`, of `recipes (gin, rum)`: a word behind a bracket brings no space with it.
- `Read FAQ.md`, of `our FAQ (faq.md)`: a file's name or an identifier in other letters.
- `Write slugify, which changes a webpage`: a last clause that says nothing the objective says.
- `a note of 60 words for slide 1, 60 words`, `for beginners for beginners`: what is said twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .....task_ir import Step
from ..vocabulary import tokens, words

__all__ = [
    "part_words",
    "remove_doubled_phrases",
    "remove_own_clauses",
    "remove_repeated_endings",
    "write_names",
]

_WORD = re.compile(r"\w+")
_GLUED = re.compile(r"of(?!ten$)(?P<own>\w{3,})")
_COMMA = re.compile(r"(?P<one>\w+),(?=(?P<other>[^\W\d]\w*))")
_NAME = re.compile(r"\w[\w-]*(?:[._]\w[\w-]*)+|\w*[a-z][A-Z]\w*")
_CLAUSE = re.compile(r", which [^,;:()]+$")
_DOUBLED = re.compile(r"\b(?P<said>\w+(?: \w+)+?)(?: (?P=said))+\b")
_ADDED = re.compile(r", (?P<said>[^,;:()\s]+ [^,;:()]+)$")


def part_words(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Part words that were written as one.

    Returns:
        The steps, and a clause for each that was changed; so do the others.
    """
    return _each(steps, lambda prompt: _spaced(prompt, objective), "had a typo")


def write_names(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Name things as the objective names them."""
    names = _names(objective)
    return _each(steps, lambda prompt: _named(prompt, names), "had a typo")


def remove_own_clauses(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Leave out clauses of the model's own making."""
    return _each(steps, lambda prompt: _asked(prompt, objective), "had a typo")


def remove_doubled_phrases(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Leave out what a prompt says twice in a row, and the objective doesn't."""
    return _each(steps, lambda prompt: _single(prompt, objective), "repeated a phrase")


def remove_repeated_endings(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Leave out what a prompt says again at its end, and the objective doesn't."""
    return _each(steps, lambda prompt: _once(prompt, objective), "repeated a phrase")


def _each(
    steps: Sequence[Step], correct: Callable[[str], str], fault: str
) -> tuple[list[Step], list[str]]:
    found, notes = list[Step](), list[str]()
    for step in steps:
        prompt = correct(step.prompt)
        if prompt != step.prompt:
            notes.append(f"{step.id} {fault}: “{step.prompt}”")
            step = step.model_copy(update={"prompt": prompt})
        found.append(step)
    return found, notes


def _spaced(prompt: str, objective: str) -> str:
    objective_words = tokens(objective)

    def parted(match: re.Match[str]) -> str:
        glued = _GLUED.fullmatch(match[0])
        if (
            not glued
            or match[0].casefold() in objective_words
            or not _opens(glued["own"], objective)
        ):
            return match[0]
        return f"of {glued['own']}"

    def comma(match: re.Match[str]) -> str:
        together = f"{match['one']},{match['other']}"
        apart = f"{match['one']}, {match['other']}"
        return match[0] + " " * (together not in objective and apart in objective)

    return _COMMA.sub(comma, _WORD.sub(parted, prompt))


def _opens(word: str, objective: str) -> bool:
    """Whether a word stands right behind a bracket or a quote."""
    return re.search(rf"[(\[\"'“‘«]{re.escape(word)}\b", objective) is not None


def _names(objective: str) -> dict[str, re.Pattern[str]]:
    """The names that the objective writes in one way, and what finds each in any letters."""
    found = dict[str, re.Pattern[str]]()
    for name in _NAME.findall(objective):
        like = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", re.IGNORECASE)
        # A capital may stand there for the sentence that it begins.
        begins = name[0].isupper() and name[1:].islower()
        if not begins and set(like.findall(objective)) == {name}:
            found[name] = like
    return found


def _named(prompt: str, names: Mapping[str, re.Pattern[str]]) -> str:
    for name, like in names.items():
        prompt = like.sub(lambda _, name=name: name, prompt)
    return prompt


def _asked(prompt: str, objective: str) -> str:
    clause = _CLAUSE.search(prompt)
    if clause is None:
        return prompt
    before = prompt[: clause.start()]
    own = words(clause[0]) - words(before)
    return before if own and not own & words(objective) else prompt


def _single(prompt: str, objective: str) -> str:
    def single(match: re.Match[str]) -> str:
        return match[0] if match[0] in objective else match["said"]

    before = ""
    while before != prompt:
        before, prompt = prompt, _DOUBLED.sub(single, prompt)
    return prompt


def _once(prompt: str, objective: str) -> str:
    while (added := _ADDED.search(prompt)) and _repeats(added, objective):
        prompt = prompt[: added.start()]
    return prompt


def _repeats(added: re.Match[str], objective: str) -> bool:
    # Behind a comma it is one of several things, and the last of them again.
    earlier = re.search(rf"(?<!,) {re.escape(added['said'])}\b", added.string[: added.start()])
    return earlier is not None and objective.count(added["said"]) <= 1
