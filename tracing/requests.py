"""How pydantic-ai traces a request to a model."""

from __future__ import annotations

from pydantic_ai.models.instrumented import InstrumentationSettings

from .provider import content_is_exported, tracer_provider

__all__ = ["request_tracing"]


def request_tracing() -> InstrumentationSettings | None:
    """Return pydantic-ai's settings for a request; None if this package traces nothing.

    None leaves it to what the user has set for all agents, such as `Agent.instrument_all`.
    """
    if (provider := tracer_provider()) is None:
        return None
    shown = content_is_exported()
    return InstrumentationSettings(
        tracer_provider=provider,
        include_content=shown,
        include_binary_content=shown,
        include_model_request_parameters=shown,
    )
