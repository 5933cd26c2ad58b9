"""From templates and the values of one example to texts. Pure but for the random choices."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .imperatives import IMPERATIVES
from .lists import Entry, WordList
from .marked import Marked
from .pattern import Pattern, Variable
from .rules import EACH, JOINS, PICKS
from .template import Choice, Slot, Template

__all__ = ["Scene", "Value", "draw_scene", "title"]

_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_SMALL = frozenset("a an and at by for from in into of on or the to with".split())


@dataclass(frozen=True, slots=True)
class Value:
    """What a variable holds in one example."""

    variable: Variable
    fields: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def root(self) -> str:
        """The variable whose place in a list decides on its own."""
        return self.variable.like or self.variable.name

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the entries' texts, or one field of each."""
        index = self.fields.index(name) if name else 0
        return tuple(entry.values[index] for entry in self.entries)


@dataclass
class Scene:
    """One example's choices.

    Attributes:
        serial: Whether a list has a comma before its `and`.
        digits: Whether a list's length is written in digits.
        used: Names of the variables rendered so far.
    """

    values: Mapping[str, Value]
    serial: bool = False
    digits: bool = False
    used: set[str] = field(default_factory=set[str])

    def render(
        self, template: Template, rng: random.Random, at: Mapping[str, int] | None = None
    ) -> Marked:
        """Return a template's text; `at` has the place of each variable that is one entry here."""
        marked = Marked()
        self._render(marked, template, rng, at or {})
        marked.tidy()
        return marked

    def _render(
        self, marked: Marked, template: Template, rng: random.Random, at: Mapping[str, int]
    ) -> None:
        for node in template:
            if isinstance(node, str):
                marked.text += node
            elif isinstance(node, Choice):
                self._render(marked, rng.choice(node.options), rng, at)
            else:
                self._slot(marked, node, rng, at)

    def _slot(
        self, marked: Marked, slot: Slot, rng: random.Random, at: Mapping[str, int]
    ) -> None:
        value = self.values[slot.name]
        self.used.add(slot.name)
        if slot.body is not None:
            self._bodies(marked, slot, value, rng, at)
            return
        place = at.get(value.root) if value.variable.plural else 0
        if slot.number:
            marked.add_slot(str((place or 0) + 1))
            return
        texts = value.texts(slot.field)
        if "n" in slot.filters:
            count = str(len(texts)) if self.digits else _NUMBERS[len(texts)]
            marked.add_slot(_each(slot.filters, count), count)
            return
        texts = _picked(slot.filters, texts, place)
        parts: list[Callable[[], None]] = []
        for index, text in enumerate(texts):
            capped = _each(slot.filters, text, first=index == 0)
            plain = value.variable.inline and _is_phrase(text)
            parts.append(_adder(marked, capped, text, plain))
        self._join(marked, parts, slot.filters)

    def _bodies(
        self,
        marked: Marked,
        slot: Slot,
        value: Value,
        rng: random.Random,
        at: Mapping[str, int],
    ) -> None:
        # Each entry draws the same: alternatives in a list's body read alike all through it.
        seed = rng.getrandbits(32)
        parts: list[Callable[[], None]] = []
        for index in range(len(value.entries)):
            inner = {**at, value.root: index}

            def add(inner: Mapping[str, int] = inner) -> None:
                self._render(marked, slot.body or (), random.Random(seed), inner)

            parts.append(add)
        self._join(marked, parts, slot.filters)

    def _join(
        self, marked: Marked, parts: Sequence[Callable[[], None]], filters: Sequence[str]
    ) -> None:
        style = next((name for name in filters if name in JOINS), "and")
        for index, part in enumerate(parts):
            marked.text += self._before(style, index, len(parts))
            part()

    def _before(self, style: str, index: int, count: int) -> str:
        """Return what stands before an entry of a list."""
        if style == "numbered":
            return f"\n{index + 1}. " if index else "1. "
        if style == "bullets":
            return "\n- " if index else "- "
        if index == 0:
            return ""
        if style in ("and", "or") and index == count - 1:
            return f"{',' if self.serial and count > 2 else ''} {style} "
        return {"vs": " vs ", "slash": "/", "semicolons": "; ", "lines": "\n"}.get(style, ", ")


def draw_scene(pattern: Pattern, rng: random.Random) -> Scene:
    """Choose what every variable holds; no entry of a list is taken twice in one example."""
    values: dict[str, Value] = {}
    taken: set[str] = set()
    for name, variable in pattern.variables.items():
        like = values.get(variable.like)
        count = len(like.entries) if like else rng.randint(variable.low, variable.high)
        source = rng.choice(variable.lists)
        entries = _entries(source, variable, count, taken, rng)
        values[name] = Value(variable, source.fields, entries)
        if not variable.inline and source.name != "count":
            taken.update(entry.text.casefold() for entry in entries)
    return Scene(values, serial=rng.random() < 0.35, digits=rng.random() < 0.5)


def _entries(
    source: WordList, variable: Variable, count: int, taken: set[str], rng: random.Random
) -> tuple[Entry, ...]:
    if source.name == "count":
        return source.entries[:count]
    if variable.inline:
        free = source.entries
    else:
        free = tuple(entry for entry in source.entries if entry.text.casefold() not in taken)
    if variable.like and len(free) < count:
        return tuple(rng.choice(free or source.entries) for _ in range(count))
    if not variable.plural:
        return (rng.choice(free or source.entries),)
    return tuple(rng.sample(free if len(free) >= count else source.entries, count))


def title(text: str) -> str:
    """Return a text as an agent's name has it: at most three words, each with a capital."""
    text = re.sub(r"(?<=\w)#", "sharp", text.replace("++", "pp").replace("_", " "))
    plain = unicodedata.normalize("NFKD", text)
    words = re.sub(r"[^A-Za-z0-9'&/.\s-]", "", plain).split()
    words = [word.strip("'-.") or word for word in words if re.search(r"[A-Za-z0-9]", word)]
    while len(words) > 1 and words[0].lower() in ("a", "an", "the"):
        words = words[1:]
    if len(words) > 3:
        big = [word for word in words if word.lower() not in _SMALL]
        # A noun that has no preposition after it stands last.
        words = big[:3] if len(big) < len(words) else big[-3:]
    return " ".join(word[0].upper() + word[1:] for word in words)


def _picked(filters: Sequence[str], texts: tuple[str, ...], place: int | None) -> tuple[str, ...]:
    pick = next((name for name in filters if name in PICKS), "")
    if pick == "prev" and place:
        return (texts[place - 1],)
    if pick:
        return {"first": texts[:1], "last": texts[-1:], "rest": texts[1:], "most": texts[:-1]}[pick]
    return texts if place is None else (texts[place],)


def _each(filters: Sequence[str], text: str, *, first: bool = True) -> str:
    listed = "bullets" in filters or "numbered" in filters or "lines" in filters
    for name in filters:
        if name in EACH and (name != "cap" or first or listed):
            text = _CHANGES[name](text)
    return text


_CHANGES: Mapping[str, Callable[[str], str]] = {
    "quote": lambda text: f'"{text}"',
    "title": title,
    "lower": str.lower,
    "cap": lambda text: text[:1].upper() + text[1:],
}


def _is_phrase(text: str) -> bool:
    """Say whether an alternative reads like the template's own words, not like a name."""
    first, _, rest = text.partition(" ")
    plain = re.fullmatch(r"[A-Za-z][a-z', -]*", text) is not None
    return plain and (text.islower() or (first.lower() in IMPERATIVES and not rest[:1].isupper()))


def _adder(marked: Marked, text: str, low: str, plain: bool) -> Callable[[], None]:
    def add() -> None:
        if plain:
            marked.text += text
        else:
            marked.add_slot(text, low if text.lower() == low.lower() else text)

    return add
