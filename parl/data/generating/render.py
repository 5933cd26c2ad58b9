"""From templates and the choices of one example to texts. Pure but for the random choices."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from ..noise.imperatives import IMPERATIVES
from ..parsing.template import Alternatives, Template, TemplateSlot
from .chance import seeded
from .draw import Scene, Value
from .filters import between, change, has_capital, pick
from .marked import Marked

__all__ = ["Renderer"]

_COUNTS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
"""


class Renderer:
    """Writes the texts of one example.

    Attributes:
        used: Names of the variables written so far.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.used: set[str] = set()

    def write(
        self, template: Template, rng: random.Random, at: Mapping[str, int] | None = None
    ) -> Marked:
        """Return a template's text; `at` has the place of each variable that is one entry here."""
        marked = Marked()
        self._write(marked, template, rng, at or {})
        marked.tidy()
        return marked

    def _write(
        self, marked: Marked, template: Template, rng: random.Random, at: Mapping[str, int]
    ) -> None:
        for node in template:
            if isinstance(node, str):
                marked.text += node
            elif isinstance(node, Alternatives):
                self._write(marked, rng.choice(node.options), rng, at)
            elif node.body is not None:
                self._bodies(marked, node, node.body, rng, at)
            else:
                self._slot(marked, node, at)

    def _bodies(
        self,
        marked: Marked,
        slot: TemplateSlot,
        body: Template,
        rng: random.Random,
        at: Mapping[str, int],
    ) -> None:
        value = self._value(slot)
        # Each entry draws the same: alternatives in a list's text read alike all through it.
        seed = rng.getrandbits(32)
        places = pick(slot.filters, tuple(range(len(value.entries))), None)
        for index, place in enumerate(places):
            marked.text += between(slot.filters, index, len(places), serial=self._scene.serial)
            start = len(marked.text)
            self._write(marked, body, seeded(seed), {**at, value.variable.root: place})
            if has_capital(slot.filters, first=index == 0):
                marked.capitalise(start)

    def _slot(self, marked: Marked, slot: TemplateSlot, at: Mapping[str, int]) -> None:
        value = self._value(slot)
        place = at.get(value.variable.root) if value.variable.plural else 0
        if slot.number and place is not None:
            marked.add_slot(str(place + 1))
        elif "n" in slot.filters:
            count = len(value.entries)
            said = str(count) if self._scene.digits else _COUNTS.split()[count]
            marked.add_slot(change(slot.filters, said), said)
        else:
            texts = pick(slot.filters, value.texts(slot.field), place)
            for index, text in enumerate(texts):
                marked.text += between(slot.filters, index, len(texts), serial=self._scene.serial)
                self._entry(marked, slot, text, first=index == 0, inline=value.variable.inline)

    def _entry(
        self, marked: Marked, slot: TemplateSlot, text: str, *, first: bool, inline: bool
    ) -> None:
        said = change(slot.filters, text, first=first)
        if inline and _is_phrase(text):
            marked.text += said
        else:
            only_case = said.lower() == text.lower()
            marked.add_slot(said, text if only_case else said)

    def _value(self, slot: TemplateSlot) -> Value:
        self.used.add(slot.name)
        return self._scene.values[slot.name]


def _is_phrase(text: str) -> bool:
    """Say whether an alternative is a verb of the template's own, not something named."""
    return text.split()[0].lower() in IMPERATIVES and re.fullmatch(r"\w[a-z -]*", text) is not None
