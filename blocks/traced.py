"""How requests to a model are traced: each has one span, an agent's run the agent's own."""

from __future__ import annotations

from pydantic_ai.models import Model
from pydantic_ai.models.instrumented import InstrumentationSettings

from ..tracing import request_tracing
from .agent import AgentModel

__all__ = ["tracing_of"]


def tracing_of(model: Model) -> InstrumentationSettings | bool | None:
    """Return what `model_request` is to be given as `instrument`.

    An agent's run has spans of its own for the requests that it makes, with their tokens.
    """
    return False if isinstance(model, AgentModel) else request_tracing()
