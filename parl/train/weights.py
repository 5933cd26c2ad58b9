"""How much each token of a plan counts while training.

A quarter of the loss of a plan is the names of its agents, of which any of a dozen would do; a
twentieth is where steps end and what they need, which is what makes a plan right. So names count
for less, and the skeleton of the plan for more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["NAME", "SKELETON", "token_weights"]

NAME = 0.3
"""A token that begins within an agent's name."""
SKELETON = 2.0
"""A token that begins a line, or at the end of a prompt or behind it: needs, line ends, the end."""

_LINE = re.compile(rb"(\d+\. )([^:\n]*)(: [^\n]*?)((?: \(needs [\d, ]+\))?(?:\n|\Z))")


def token_weights(pieces: Sequence[bytes]) -> tuple[float, ...]:
    """Weigh the tokens of a plan in lines by where each begins.

    Args:
        pieces: What each token stands for; that of the end stands for nothing.
    """
    text = b"".join(pieces)
    by_byte = [1.0] * len(text)
    for line in _LINE.finditer(text):
        for group, weight in ((1, SKELETON), (2, NAME), (4, SKELETON)):
            start, end = line.span(group)
            by_byte[start:end] = [weight] * (end - start)
    weights: list[float] = []
    at = 0
    for piece in pieces:
        weights.append(by_byte[at] if at < len(text) else SKELETON)
        at += len(piece)
    return tuple(weights)
