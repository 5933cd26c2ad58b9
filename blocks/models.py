"""Models by name (first form; blocks and base URLs are to come)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from pydantic_ai.models import Model, infer_model

from ..task_ir import TierName
from .llama.gguf import demo_model_path
from .llama.model import LlamaCppModel

__all__ = ["override_models", "resolve_model"]

_overrides: ContextVar[dict[str, Model] | None] = ContextVar("swarm_models", default=None)


@contextmanager
def override_models(**models: Model) -> Generator[None]:
    """Put a model in a tier's place."""
    token = _overrides.set({**(_overrides.get() or {}), **models})
    try:
        yield
    finally:
        _overrides.reset(token)


async def resolve_model(name: str, tier: TierName) -> Model:
    """Return the model of that name."""
    return (_overrides.get() or {}).get(tier) or _named(name)


@cache
def _named(name: str) -> Model:
    if name == "demo":
        return LlamaCppModel(demo_model_path())
    if name.startswith("llamacpp:"):
        return LlamaCppModel(name.removeprefix("llamacpp:"))
    return infer_model(name)
