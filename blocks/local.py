"""Which models are model files of this machine."""

from __future__ import annotations

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

from .llama.model import LlamaCppModel

__all__ = ["local_model"]


def local_model(model: Model) -> LlamaCppModel | None:
    """Return the model file that a model is or wraps; None if it asks a provider."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model if isinstance(model, LlamaCppModel) else None
