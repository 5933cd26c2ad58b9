"""What a model is given and asked for where the user sets nothing."""

from __future__ import annotations

from pydantic import Field

from ..frozen import Frozen

__all__ = ["EMBEDDED", "REMOTE_CONCURRENCY", "Profile"]

REMOTE_CONCURRENCY = 32
"""Requests under way at a provider; a provider that refuses some is sent fewer."""


class Profile(Frozen):
    """The defaults of one model; what a user sets comes first.

    None is no bound of ours: nothing is sent, and the provider's own applies.
    """

    context_tokens: int | None = Field(
        default=None, description="Tokens of a request, prompt and answer together."
    )
    max_input_tokens: int | None = Field(
        default=None, description="Tokens of earlier outputs that a step reads."
    )
    max_output_tokens: int | None = Field(default=None, description="Tokens that an answer takes.")
    temperature: float | None = None
    sample_temperature: float | None = Field(
        default=None, description="Sampling temperature of further samples of an answer."
    )
    concurrency: int = Field(default=REMOTE_CONCURRENCY, ge=1, description="Requests at once.")
    feedback_chars: int = Field(
        default=4000, ge=1, description="Characters of what was wrong that an attempt is told."
    )
    timeout_s: float = Field(default=600.0, gt=0, description="Seconds of work of an attempt.")


EMBEDDED = Profile(
    context_tokens=4096,
    max_input_tokens=1334,
    max_output_tokens=256,
    sample_temperature=0.8,
    concurrency=8,
    feedback_chars=600,
    timeout_s=300.0,
)
"""The embedded model's. Its figures are small since it loses its task over more."""
