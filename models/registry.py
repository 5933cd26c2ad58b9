"""Models and agents registered in Python, by the names that stand for them."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

from pydantic_ai import Agent
from pydantic_ai.models import Model

from ..errors import ModelError
from .names import PYTHON

__all__ = ["RegisteredModel", "register_model", "registered_model"]


RegisteredModel = Model | Agent[Any, Any]


# Put in by `register_model`, where options take a model in a name's place; found by
# `registered_model` when the name is resolved. A flow's parameters are stored as JSON, which a
# model is not.
_given: dict[str, RegisteredModel] = {}


_lock = threading.Lock()


def register_model(model: RegisteredModel) -> str:
    """Return the name that stands for a model in this process alone, the same each time."""
    with _lock:
        for name, known in _given.items():
            if known is model:
                return name
        name = f"{PYTHON}{_label(model)}#{uuid4().hex[:8]}"
        _given[name] = model
        return name


def registered_model(name: str) -> RegisteredModel:
    """Return the model of a name.

    Raises:
        ModelError: It was registered in another process.
    """
    try:
        return _given[name]
    except KeyError:
        raise ModelError(
            f"The model {name!r} was given in Python, in another process.",
            "Give it again with override_models, or name another model.",
        ) from None


def _label(model: RegisteredModel) -> str:
    label = model.model_name if isinstance(model, Model) else model.name or "agent"
    # A comma would end the name.
    return label.replace(",", "+")
