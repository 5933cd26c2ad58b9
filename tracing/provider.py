"""Where spans go: to the provider that the user's code set, or to what the environment names."""

from __future__ import annotations

from opentelemetry.trace import (
    NoOpTracerProvider,
    ProxyTracerProvider,
    Tracer,
    TracerProvider,
    get_tracer_provider,
)

from .environment import environment_provider

__all__ = ["is_traced", "tracer", "tracer_provider"]

_SCOPE = "prefect_swarm"


def tracer_provider() -> TracerProvider | None:
    """Return who takes spans; None if nobody does."""
    given = get_tracer_provider()
    # Either of these is what OpenTelemetry has where nobody set a provider.
    if isinstance(given, ProxyTracerProvider | NoOpTracerProvider):
        return environment_provider()
    return given


def is_traced() -> bool:
    """Return whether anybody takes spans."""
    return tracer_provider() is not None


def tracer() -> Tracer | None:
    """Return what makes this package's spans; None if nobody takes them."""
    provider = tracer_provider()
    return None if provider is None else provider.get_tracer(_SCOPE)
