"""How the model of a plan's step is asked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .output import PlanPart

__all__ = ["StepSettings"]


class StepSettings(PlanPart):
    """How a step's model is asked; what is None is left to its tier, or to the model."""

    temperature: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="How much chance is in the choice of tokens; 0 for none.",
    )
    top_p: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Share of the likeliest tokens that are chosen from.",
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        description="Seed of sampling.",
    )
    max_output_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens a call may write.",
    )
    max_input_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens of earlier outputs it may read.",
    )
    thinking: Literal["minimal", "low", "medium", "high"] | bool | None = Field(
        default=None, description="How long a model thinks that can; true is as it does by itself."
    )
