"""Conditions on JSON values: `when`, `where` and `until` of a plan. Pure.

docs/reference/plan_programs.md says what each operator means.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from .output import PlanPart, as_tuple

__all__ = ["Condition"]


class Condition(PlanPart):
    """What a value has to be; all operators of one condition have to hold."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    step: str | None = Field(default=None, description="The earlier step whose output is meant.")
    at: str = Field(default="", description="JSON pointer into the value; empty for all of it.")
    is_: Any = Field(default=None, alias="is", description="It is equal to this.")
    is_not: Any = Field(default=None, description="It isn't equal to this.")
    in_: Annotated[tuple[Any, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, alias="in", description="It is one of these."
    )
    over: float | None = Field(default=None, description="It is a number above this one.")
    under: float | None = Field(default=None, description="It is a number below this one.")
    exists: bool | None = Field(default=None, description="Whether it is there and not null.")
    empty: bool | None = Field(
        default=None, description="Whether it is missing, null, or has nothing in it."
    )
    matches: str | None = Field(
        default=None, description="A regular expression that is found in it."
    )
    all: Annotated[tuple[Condition, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, description="All of these conditions hold."
    )
    any: Annotated[tuple[Condition, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, description="One of these conditions holds."
    )
    not_: Condition | None = Field(
        default=None, alias="not", description="This condition doesn't hold."
    )
