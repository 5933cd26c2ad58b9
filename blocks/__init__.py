"""The Prefect blocks that a person configures: models, policies, servers of tools.

A block stores and checks fields; `models` and `toolsets` do the work.
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
