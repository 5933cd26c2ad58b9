"""Which planner a model has."""

from __future__ import annotations

from pydantic_ai.models import Model

from ...blocks.agent import AgentModel
from ...blocks.local import local_model
from .adapter.planner import AdapterPlanner
from .grammar import GrammarPlanner
from .protocol import Planner
from .structured import StructuredPlanner

__all__ = ["planner_for", "reads_facts"]


def planner_for(model: Model, *, adapter: bool = True) -> Planner:
    """Return the planner of a model.

    Args:
        model: A model file plans under a grammar, with its adapter in lines; any other model gives
            structured output.
        adapter: Whether the planner's adapter of a model file is applied, if it has one.

    Raises:
        ModelError: The shipped adapter is damaged.
    """
    local = local_model(model)
    if local is None:
        return StructuredPlanner(model)
    if isinstance(model, AgentModel):
        model = model.wrapped
    path = local.planner_adapter if adapter else None
    return AdapterPlanner(model, path) if path is not None else GrammarPlanner(model, local)


def reads_facts(planner: Planner) -> bool:
    """Return whether a planner reads what the swarm has and has seen.

    The adapter's doesn't: its prompt is the one that it was trained on, word for word.
    """
    return not isinstance(planner, AdapterPlanner)
