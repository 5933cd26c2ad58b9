"""The failure policy: a table of actions that a block, a YAML file or a parameter can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from ..data_types import Frozen
from ..errors import Category, InputError
from ..plan.task_ir import TIERS, OutputKind, TaskType, Tier, describe
from ..untrusted.yaml_text import read_yaml_file
from .attempt import Action

__all__ = ["RULES", "Delegate", "Policy", "load_policy"]


_FORM = "`prefect-swarm docs failures` has its form."


def _tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _rising(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    # Tiers are only ever climbed, so that no step can come back to one.
    if list(tiers) != sorted(set(tiers), key=TIERS.index):
        raise ValueError(f"a ladder rises through {', '.join(TIERS)}; this one doesn't")
    return tiers


_Tiers = Annotated[
    tuple[Tier, ...], BeforeValidator(_tuple), AfterValidator(_rising), Field(min_length=1)
]
_Actions = Annotated[tuple[Action, ...], BeforeValidator(_tuple)]

RULES: Mapping[Category, tuple[Action, ...]] = {
    Category.FORMAT: ("RETRY", "RETRY"),
    Category.SCHEMA: ("RETRY", "RETRY"),
    Category.CODE: ("RETRY", "RETRY", "ESCALATE", "SAMPLE", "REPLAN"),
    Category.LOGIC: ("RETRY", "ESCALATE", "SAMPLE", "REPLAN"),
    Category.TIMEOUT: ("ESCALATE", "REPLAN"),
    Category.EARLY_ABORT: ("ESCALATE", "SAMPLE", "REPLAN"),
    Category.TRUNCATED: ("CONTINUE", "CONTINUE", "ESCALATE", "KEEP"),
    Category.REFUSED: ("ESCALATE", "REPLAN"),
    Category.UNAVAILABLE: ("ESCALATE",),
    Category.CONFLICT: ("RETRY", "ESCALATE", "RETRY", "REPLAN"),
    Category.INFRASTRUCTURE: ("RETRY", "RETRY"),
    Category.BUDGET: (),
    Category.UPSTREAM: (),
    Category.UNKNOWN: ("RETRY", "ESCALATE", "REPLAN"),
}
"""What the first, second … failure of a category on one tier leads to.

What isn't possible is passed over, so that what stands behind ESCALATE is for the highest tier.
"""


class Delegate(Frozen):
    """Whom a step is given to when it is delegated."""

    name: str
    system_prompt: str


_ENGINEER = Delegate(
    name="Careful Engineer",
    system_prompt="You are a careful engineer. You write short, plain, complete code that runs "
    "as it stands, and nothing besides.",
)


def _ladders() -> dict[TaskType, tuple[Tier, ...]]:
    return {"ingest": ("worker", "architect")}


class Policy(Frozen):
    """The table, and the bounds of all it prescribes."""

    rules: dict[Category, _Actions] = Field(
        default_factory=lambda: dict(RULES),
        description="What the first, second … failure of a category on one tier leads to; "
        "categories that are left out keep their rule.",
    )
    samples: int = Field(default=4, ge=2, le=16, description="Candidates that SAMPLE draws.")
    sample_temperature: float | None = Field(
        default=None,
        gt=0,
        le=2,
        description="Sampling temperature of SAMPLE and THINK_HARDER; 0.8 of a model file and a "
        "provider's own where empty.",
    )
    harder_tokens: float = Field(
        default=2.0, ge=1, le=8, description="How many times the tokens THINK_HARDER may write."
    )
    ladders: dict[TaskType, _Tiers] = Field(
        default_factory=_ladders,
        description="The tiers that ESCALATE climbs, by task type; all where it has none.",
    )
    replans: int = Field(default=2, ge=0, description="Times a run's steps are replaced, in all.")
    backoff_s: float = Field(
        default=1.0, ge=0, description="Wait before INFRASTRUCTURE's first retry; then it doubles."
    )
    long_inputs: Literal["cut", "summarise"] = Field(
        default="cut",
        description="What becomes of an input that is longer than a step may read: its beginning, "
        "or a summary that the worker tier writes part by part.",
    )
    delegates: dict[OutputKind, Delegate] = Field(
        default_factory=lambda: {"python": _ENGINEER, "shell": _ENGINEER, "files": _ENGINEER},
        description="Whom DELEGATE gives a step to, by what it produces.",
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for category in (Category.BUDGET, Category.UPSTREAM):
            if self.rules.get(category):
                raise ValueError(f"{category} can't be retried: nothing would be different")
        missing = {category: RULES[category] for category in Category if category not in self.rules}
        self.rules.update(missing)
        return self


def load_policy(path: Path) -> Policy:
    """Read a policy from YAML; what it leaves out is as it is by default.

    Raises:
        InputError: It can't be read, isn't YAML, or breaks a rule; says where.
    """
    data = read_yaml_file(path, "policy", _FORM).value
    try:
        return Policy.model_validate({} if data is None else data)
    except ValidationError as error:
        problems = "; ".join(describe(error))
        raise InputError(
            f"The policy {path} breaks a rule: {problems}.",
            _FORM,
        ) from None
