"""Render templates with the choices of one example. Pure but for the random choices."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from ..noise.wording import IMPERATIVES
from ..parsing.template import Alternatives, Template, TemplateSlot
from .draw import ExampleChoices, Value, seeded_random
from .filters import change, has_capital, pick, separator
from .marked import MarkedText

__all__ = ["Renderer"]

_COUNTS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
"""


class Renderer:
    """Renders the texts of one example.

    Attributes:
        used_variables: Names of the variables rendered so far.
    """

    def __init__(self, choices: ExampleChoices) -> None:
        self._choices = choices
        self.used_variables: set[str] = set()

    def write(
        self, template: Template, rng: random.Random, at: Mapping[str, int] | None = None
    ) -> MarkedText:
        """Render a template; `at` has the index of each variable that is a single entry here."""
        marked = MarkedText()
        self._write(marked, template, rng, at or {})
        marked.tidy()
        return marked

    def _write(
        self, marked: MarkedText, template: Template, rng: random.Random, at: Mapping[str, int]
    ) -> None:
        for node in template:
            if isinstance(node, str):
                marked.text += node
            elif isinstance(node, Alternatives):
                self._write(marked, rng.choice(node.options), rng, at)
            elif node.body is not None:
                self._write_list(marked, node, node.body, rng, at)
            else:
                self._write_slot(marked, node, at)

    def _write_list(
        self,
        marked: MarkedText,
        slot: TemplateSlot,
        body: Template,
        rng: random.Random,
        at: Mapping[str, int],
    ) -> None:
        value = self._value(slot)
        # One seed for all entries, so that they take the same alternatives.
        seed = rng.getrandbits(32)
        places = pick(slot.filters, tuple(range(len(value.entries))), None)
        for index, place in enumerate(places):
            marked.text += separator(
                slot.filters, index, len(places), serial_comma=self._choices.serial_comma
            )
            start = len(marked.text)
            self._write(marked, body, seeded_random(seed), {**at, value.variable.root: place})
            if has_capital(slot.filters, first=index == 0):
                marked.capitalise(start)

    def _write_slot(self, marked: MarkedText, slot: TemplateSlot, at: Mapping[str, int]) -> None:
        value = self._value(slot)
        place = at.get(value.variable.root) if value.variable.is_plural else 0
        if slot.number and place is not None:
            marked.add_slot(str(place + 1))
        elif "n" in slot.filters:
            count = len(value.entries)
            count_text = str(count) if self._choices.digits else _COUNTS.split()[count]
            marked.add_slot(change(slot.filters, count_text), count_text)
        else:
            texts = pick(slot.filters, value.texts(slot.field), place)
            for index, text in enumerate(texts):
                marked.text += separator(
                    slot.filters, index, len(texts), serial_comma=self._choices.serial_comma
                )
                self._write_entry(
                    marked, slot, text, first=index == 0, inline=value.variable.inline
                )

    def _write_entry(
        self, marked: MarkedText, slot: TemplateSlot, text: str, *, first: bool, inline: bool
    ) -> None:
        filtered = change(slot.filters, text, first=first)
        if inline and _is_phrase(text):
            marked.text += filtered
        else:
            only_case = filtered.lower() == text.lower()
            marked.add_slot(filtered, text if only_case else filtered)

    def _separator(self, slot: TemplateSlot, index: int, count: int) -> str:
        return separator(slot.filters, index, count, serial_comma=self._choices.serial_comma)

    def _value(self, slot: TemplateSlot) -> Value:
        self.used_variables.add(slot.name)
        return self._choices.values[slot.name]


def _is_phrase(text: str) -> bool:
    """Say whether an alternative is a verb of the template, not the name of something."""
    return text.split()[0].lower() in IMPERATIVES and re.fullmatch(r"\w[a-z -]*", text) is not None
