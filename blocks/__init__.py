"""What a person configures as Prefect blocks: models and their names, policies, servers.

Names become models here, with profiles, prices and limits. One set of models an event loop.
"""

from .failure_policy import FailurePolicy
from .llama_cpp import LlamaCpp
from .mcp_server import McpServer
from .models import override_models, resolve_model
from .provider import ModelProvider

__all__ = [
    "FailurePolicy",
    "LlamaCpp",
    "McpServer",
    "ModelProvider",
    "override_models",
    "resolve_model",
]
