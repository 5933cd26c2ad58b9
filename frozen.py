"""The base of the package's immutable data."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen"]


class Frozen(BaseModel):
    """Data that can't be changed, has no unknown fields, and numbers that are finite.

    A class that reads what others wrote may set `extra` to `ignore`; one that a person fills in
    sets `strict`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
