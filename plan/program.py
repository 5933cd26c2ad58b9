"""What makes a plan a program: for each item, again until, review, best of.

docs/reference/plan_programs.md says what each means.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from ..inputs.contents import MAX_FILES
from ..inputs.selection import has_wildcard
from .conditions import Condition
from .output import PlanPart, Text, as_tuple

__all__ = [
    "PROCEDURE_NAME",
    "BestOf",
    "Collect",
    "ForEach",
    "ParameterValue",
    "Repeat",
    "Review",
]

PROCEDURE_NAME = r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?"
"""The form of a procedure's name."""
ParameterValue = str | int | float | bool
"""What a parameter of a procedure may be given."""

Collect = Literal["table", "list", "json", "files"]
"""How the outputs of steps are joined without a model."""


class ForEach(PlanPart):
    """The items that a step is done for, once each."""

    items: Annotated[str | tuple[Any, ...], BeforeValidator(as_tuple)] = Field(
        description="An earlier step, an input, a pattern over the names of inputs, or a list."
    )
    at: str | None = Field(
        default=None,
        description="JSON pointer to the list. Left out, a step that is itself for each is "
        "followed item by item.",
    )
    where: Condition | None = Field(default=None, description="Which items are taken.")
    max_items: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description="The most items; where left out beside a pattern, all inputs that a run takes.",
    )
    key: str = Field(
        default="", description="JSON pointer to what tells items apart; empty for the whole item."
    )
    too_many: Literal["fail", "first", "ask"] = Field(
        default="fail", description="What more items than `max_items` lead to."
    )
    at_least: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="How many have to succeed: a number, or a share below 1; null for all.",
    )

    @model_validator(mode="before")
    @classmethod
    def _a_pattern_takes_all_inputs(cls, data: object) -> object:
        # What is found may be any number of things; inputs are given, and a run has few enough.
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, object]", data)
        items = fields.get("items")
        if isinstance(items, str) and has_wildcard(items) and "max_items" not in fields:
            return {**fields, "max_items": MAX_FILES}
        return fields


class Repeat(PlanPart):
    """How a step is repeated, each round reading the one before."""

    until: Condition | Literal["no_new_items"] = Field(
        description="A condition on the round's own output, or that a round finds nothing new."
    )
    at: str = Field(default="", description="JSON pointer to the list, for `no_new_items`.")
    key: str = Field(default="", description="JSON pointer to what tells items apart.")
    max_rounds: int = Field(default=5, ge=1, le=100, description="The most rounds.")
    at_end: Literal["fail", "partial"] = Field(
        default="fail", description="What the last round leads to where the end isn't reached."
    )


class Review(PlanPart):
    """Reviewers who try to refute an artifact that has passed its gates."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    agent: Text = Field(description="Who reviews.")
    votes: int = Field(default=1, ge=1, le=9, description="How many review, side by side.")
    pass_: int | None = Field(
        default=None, alias="pass", ge=1, description="Accepts it takes; null for a majority."
    )
    instructions: str = Field(default="", description="What they are to look for.")

    @property
    def needed(self) -> int:
        """How many have to accept."""
        return self.votes // 2 + 1 if self.pass_ is None else self.pass_

    @model_validator(mode="after")
    def _can_pass(self) -> Self:
        if self.needed > self.votes:
            raise ValueError(
                f"pass is {self.needed}, and there are only {self.votes} votes; lower pass or "
                "raise votes"
            )
        return self


class BestOf(PlanPart):
    """Several samples at the first attempt, of which one is chosen."""

    samples: int = Field(ge=2, le=9, description="How many are drawn.")
    judge: Text = Field(default="gates", description="`gates`, or the agent that names the best.")

    @property
    def judging_agent(self) -> str:
        """The agent that names the best; "" where the gates choose."""
        return "" if self.judge == "gates" else self.judge
