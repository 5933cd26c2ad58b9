"""How a person says it: in lower case, in haste, politely, with typos, with small talk around.

Each register changes the words of the template alone, never those of a slot. Pure but for the
random choices.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ..generating.marked import Marked
from .rewording import lower, mistype, other_spelling, shorten, shout
from .surroundings import ask_politely, break_lines, chat, hurry, leave_open, thank

__all__ = ["PLAIN", "REGISTERS", "dress"]

PLAIN = 0.55
"""Share of the objectives that stay as their template says them."""

_TRIES = 20  # a register may find nothing to change

Register = Callable[[Marked, random.Random], None]

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


def dress(objective: Marked, rng: random.Random) -> str:
    """Return an objective as somebody might say it; most often it stays plain."""
    plain = objective.plain()
    if rng.random() < PLAIN:
        return plain
    said = plain
    for _ in range(_TRIES):
        dressed = Marked(objective.text, list(objective.slots))
        for chance, register in REGISTERS:
            if rng.random() < chance:
                register(dressed, rng)
        said = dressed.plain()
        if said != plain:
            break
    return said
