"""Whether a plan that is being written goes round in circles, so that it needn't go on. Pure."""

from __future__ import annotations

from .plan_lines import asked_in

__all__ = ["in_circles"]

_ROUNDS = 2


def in_circles(text: str) -> str:
    """Say so if two whole lines ask an agent what earlier ones ask it; empty as long as not.

    One such line is left out when the plan is read; after a second a small model repeats itself
    until the grammar ends the plan.
    """
    asked = [asked_in(line) for line in text.split("\n")[:-1]]
    again = [one for n, one in enumerate(asked) if one is not None and one in asked[:n]]
    return f"{again[-1][1][:60]!r} is asked again and again" if len(again) >= _ROUNDS else ""
