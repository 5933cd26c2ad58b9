"""Which planner a model has."""

from __future__ import annotations

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

from ...blocks.llama.model import LlamaCppModel
from .adapter.planner import AdapterPlanner
from .grammar import GrammarPlanner
from .protocol import Planner
from .structured import StructuredPlanner

__all__ = ["planner_for"]


def planner_for(model: Model, *, adapter: bool = True) -> Planner:
    """Return the planner of a model.

    Args:
        model: A model file plans under a grammar, with its adapter in lines; any other model gives
            structured output.
        adapter: Whether the planner's adapter of a model file is applied, if it has one.

    Raises:
        ModelError: The shipped adapter is damaged.
    """
    local = _local(model)
    if local is None:
        return StructuredPlanner(model)
    path = local.planner_adapter if adapter else None
    return AdapterPlanner(model, path) if path is not None else GrammarPlanner(model, local)


def _local(model: Model) -> LlamaCppModel | None:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model if isinstance(model, LlamaCppModel) else None
