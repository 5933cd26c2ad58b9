"""What a person configures: models and policies as Prefect blocks, and the names they go by."""

from .failure_policy import FailurePolicy
from .llama_cpp import LlamaCpp
from .models import override_models, resolve_model
from .provider import ModelProvider

__all__ = ["FailurePolicy", "LlamaCpp", "ModelProvider", "override_models", "resolve_model"]
