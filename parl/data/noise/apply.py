"""Add noise to an objective: lower case, politeness, urgency, typos, small talk and the like.

Each noise function changes the template's words alone, never those of a slot. Pure but for the
random choices.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ..generating.marked import MarkedText
from .surroundings import (
    add_small_talk,
    add_thanks,
    add_urgency,
    ask_politely,
    break_lines,
    drop_end_mark,
)
from .wording import lower_case, mistype, shorten, shout, swap_spelling

__all__ = ["NOISE_FUNCTIONS", "PLAIN_SHARE", "NoiseFunction", "add_noise"]

PLAIN_SHARE = 0.55
"""Share of the objectives that get no noise."""

_TRIES = 20  # a noise function may find nothing to change

NoiseFunction = Callable[[MarkedText, random.Random], None]

NOISE_FUNCTIONS: tuple[tuple[float, NoiseFunction], ...] = (
    (0.12, swap_spelling),
    (0.16, shorten),
    (0.30, ask_politely),
    (0.05, shout),
    (0.25, mistype),
    (0.06, add_urgency),
    (0.28, add_small_talk),
    (0.12, add_thanks),
    (0.12, break_lines),
    (0.30, drop_end_mark),
    (0.30, lower_case),
)
"""Every noise function and its probability in an objective with noise, in order of application."""


def add_noise(objective: MarkedText, rng: random.Random) -> str:
    """Return an objective as a person might write it; most often it stays plain."""
    plain = objective.plain_text()
    if rng.random() < PLAIN_SHARE:
        return plain
    text = plain
    for _ in range(_TRIES):
        noisy = MarkedText(objective.text, list(objective.slots))
        for probability, noise_function in NOISE_FUNCTIONS:
            if rng.random() < probability:
                noise_function(noisy, rng)
        text = noisy.plain_text()
        if text != plain:
            break
    return text
