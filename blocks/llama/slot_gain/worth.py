"""How many sequences are worth computing together, by how long a step of them takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["AGREEMENT", "agreed", "worthwhile_slots"]

AGREEMENT = 1.2
"""Two measurements of the same agree if neither is more than so many times the other."""
_LEAST_GAIN = AGREEMENT
"""What twice as many sequences have to bring: with less it may be nothing, as measurements differ,
and each text takes more than 1.67 times as long, for twice the cache."""


def worthwhile_slots(steps: Mapping[int, float]) -> int:
    """Return the most sequences where each doubling still brings a fifth more tokens a second.

    Args:
        steps: Seconds of a step that computes a token of each sequence, by the count of these: 1,
            2, 4, … What follows a count that is missing is not looked at.

    Returns:
        A count in `steps`, or 1.
    """
    count = 1
    while 2 * count in steps and 2 * steps[count] >= _LEAST_GAIN * steps[2 * count]:
        count *= 2
    return count


def agreed(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float] | None:
    """Return the smaller figures of two measurements; None if they don't agree.

    What else computes makes a step longer, and never shorter.
    """
    least = {count: min(first[count], second[count]) for count in first}
    most = {count: max(first[count], second[count]) for count in first}
    return least if all(most[n] <= AGREEMENT * least[n] for n in least) else None
