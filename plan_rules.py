"""Limits of a plan that come from outside it, and the agent that no plan need create. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

__all__ = ["ANY_AGENT", "MAX_ITEMS", "MAX_STEPS", "PlanRules", "with_any_agent"]

ANY_AGENT = "any"
"""The agent of steps that the memory may give to whoever does such work best."""
_ANY: dict[str, Any] = {
    "name": ANY_AGENT,
    "system_prompt": "You do one step of a larger job, completely and carefully.",
}

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


def with_any_agent(plan: object) -> object:
    """Return a plan's data with the agent `any`, if one of its steps names it and none creates it.

    What is no plan is returned as it is.
    """
    if not isinstance(plan, dict):
        return plan
    fields = cast("dict[str, Any]", plan)
    agents, steps = fields.get("agents", ()), fields.get("steps", ())
    if not isinstance(agents, list | tuple) or not isinstance(steps, list | tuple):
        return fields
    created = [_field(agent, "name") for agent in cast("list[object]", agents)]
    named = [_field(step, "agent") for step in cast("list[object]", steps)]
    if ANY_AGENT in created or ANY_AGENT not in named:
        return fields
    return {**fields, "agents": [*cast("list[object]", agents), _ANY]}


def _field(part: object, name: str) -> object:
    if isinstance(part, dict):
        return cast("dict[str, object]", part).get(name)
    return getattr(part, name, None)
