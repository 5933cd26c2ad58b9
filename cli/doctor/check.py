"""A finding of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `fix` says what to do where it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
