"""What a gate says of an artifact."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..errors import Category

__all__ = ["GateResult", "GateStatus"]

GateStatus = Literal["passed", "failed", "skipped", "error"]


class GateResult(BaseModel):
    """One gate's verdict on one artifact; `diagnostics` are what an agent needs to mend it."""

    model_config = ConfigDict(frozen=True)

    gate: str
    status: GateStatus
    category: Category | None = None
    diagnostics: tuple[str, ...] = ()
