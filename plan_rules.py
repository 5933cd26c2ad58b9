"""Limits of a plan that come from outside it. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MAX_ITEMS", "MAX_STEPS", "PlanRules"]

MAX_ITEMS = 300
"""The most items `TaskIR.from_items` maps a template over."""
MAX_STEPS = MAX_ITEMS + 1
"""Steps a plan may have where nothing says otherwise: one for each item and one that joins them."""


class PlanRules(NamedTuple):
    """Limits that come from outside the plan; pass as the validation context.

    Attributes:
        max_steps: The most steps the plan may have.
        gates: The gates that exist, or None to leave gate names unchecked.
        inputs: Names of what the run is given beside the plan's own inputs, or None to leave the
            names that steps read unchecked.
        toolsets: The toolsets that agents may have, or None to leave their names unchecked.
    """

    max_steps: int = MAX_STEPS
    gates: frozenset[str] | None = None
    inputs: frozenset[str] | None = None
    toolsets: frozenset[str] | None = None
