"""Immutable data, and numbers that are finite and such as there can be."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

__all__ = ["Count", "Finite", "Frozen", "Moment", "moment_of", "specified"]

_T = TypeVar("_T")


def specified(**values: _T | None) -> dict[str, _T]:
    """Return those of the arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


class Frozen(BaseModel):
    """Data that can't be changed, has no unknown fields, and numbers that are finite.

    A class that reads what others wrote may set `extra` to `ignore`; one that a person fills in
    sets `strict`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


_FIRST, _LAST = -62_000_000_000.0, 253_000_000_000.0
"""The years 5 and 9987: a calendar ends soon after them, in any time zone."""
_LARGEST, _MOST = 1e15, 2**53


def _moment(value: float) -> float:
    if not _FIRST <= value <= _LAST:
        raise ValueError("no calendar has such a time")
    return value


def _finite(value: float) -> float:
    if not -_LARGEST <= value <= _LARGEST:
        raise ValueError("it is too large, or no number")
    return value


def _count(value: int) -> int:
    if not -_MOST <= value <= _MOST:
        raise ValueError("it is too large")
    return value


# Validators, since a field's own bounds would take the place of bounds.
Moment = Annotated[float, AfterValidator(_moment)]
"""Seconds since 1970 that a calendar has a date for."""
Finite = Annotated[float, AfterValidator(_finite)]
"""A number of seconds, dollars or the like: so small that sums of many are finite."""
Count = Annotated[int, AfterValidator(_count)]
"""A number of tokens, calls or the like, which a database and a float can hold."""


def moment_of(value: object) -> float | None:
    """Return a value of JSON as a moment; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared before it is made a float: whole numbers have no end.
    return float(value) if _FIRST <= value <= _LAST else None
