"""Which of several plans for one objective are learnt from, and which way. Pure."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["advantages"]

_ENDS = 2
"""Plans from each end: they say the most for their time (Xu et al., 2025, arXiv:2504.13818)."""

_ALIKE = 0.01


def advantages(rewards: Sequence[float]) -> list[tuple[int, float]]:
    """Compare plans with each other, as GRPO does (Shao et al., 2024, arXiv:2402.03300).

    What is better than the mean becomes likelier, what is worse less likely, by so much. It isn't
    divided by the deviation, which would give the objectives of which nothing is to learn a say.

    Returns:
        Number and advantage of the two best and the two worst plans, those close to the mean of
        these four left out.
    """
    ordered = sorted(range(len(rewards)), key=lambda number: -rewards[number])
    ends = list(dict.fromkeys([*ordered[:_ENDS], *ordered[-_ENDS:]]))
    mean = sum(rewards[number] for number in ends) / max(1, len(ends))
    found = ((number, rewards[number] - mean) for number in ends)
    return [(number, advantage) for number, advantage in found if abs(advantage) > _ALIKE]
