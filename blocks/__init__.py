"""What a person configures as Prefect blocks: models and their names, policies, servers.

Names become models here, with profiles, prices and limits. One set of models an event loop.
"""

from ..models.resolve import override_models, resolve_model
from .failure_policy import FailurePolicy
from .mcp_server import McpServer
from .models import LlamaCpp, ModelProvider

__all__ = [
    "FailurePolicy",
    "LlamaCpp",
    "McpServer",
    "ModelProvider",
    "override_models",
    "resolve_model",
]
