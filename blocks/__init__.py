"""What a person configures: models as Prefect blocks, and the names they go by."""

from .llama_cpp import LlamaCpp
from .models import override_models, resolve_model
from .provider import ModelProvider

__all__ = ["LlamaCpp", "ModelProvider", "override_models", "resolve_model"]
