"""The form of a cases file: objectives, and what their runs have to be like. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from ..frozen import Frozen
from ..schema_check import schema_problem

__all__ = ["CaseSpec", "CasesSpec", "Checks", "JudgeSpec", "Words"]


class _Written(Frozen):
    """What a person writes: nothing is converted, so a number in the place of a text is named."""

    model_config = ConfigDict(strict=True, populate_by_name=True)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _rubric(value: object) -> object:
    return {"rubric": value} if isinstance(value, str) else value


def _can_be_searched(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is no regular expression: {error}") from None
    return pattern


def _can_be_applied(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Text = Annotated[str, AfterValidator(_says_something)]
Texts = Annotated[list[Text], BeforeValidator(_listed)]
Pattern = Annotated[str, AfterValidator(_can_be_searched)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*$", max_length=60)]


class Words(_Written):
    """Words or phrases of an answer, in any case, each a whole word."""

    all_of: Texts = Field(default_factory=list[str], alias="all", description="All have to be in.")
    any_of: Texts = Field(default_factory=list[str], alias="any", description="At least one.")
    none_of: Texts = Field(default_factory=list[str], alias="none", description="None may be in.")


class JudgeSpec(_Written):
    """A model's verdict on an answer."""

    rubric: Text = Field(description="A statement that is true of a good answer.")
    model: Text | None = Field(
        default=None, description="The judge's model; the file's judge or the planner's if empty."
    )


class Checks(_Written):
    """What a run has to be like. Without any it has to be completed."""

    words: Words | None = None
    matches: Annotated[list[Pattern], BeforeValidator(_listed)] = Field(
        default_factory=list[str], description="Regular expressions that are found in the answer."
    )
    answer_schema: Annotated[dict[str, Any], AfterValidator(_can_be_applied)] | None = Field(
        default=None, alias="schema", description="JSON Schema that the answer is asked to fit."
    )
    judge: Annotated[JudgeSpec | None, BeforeValidator(_rubric)] = None
    max_steps: int | None = Field(default=None, ge=1, description="Steps of the plan.")
    max_tokens: int | None = Field(
        default=None, ge=0, description="Tokens read and written, by planner and answer too."
    )
    max_makespan_s: float | None = Field(
        default=None, gt=0, description="Seconds from the first step's start to the last's end."
    )
    max_usd: float | None = Field(default=None, ge=0, description="US dollars, by the price table.")


class CaseSpec(_Written):
    """An objective or a plan, and its checks."""

    name: Name
    objective: Text | None = None
    plan: Text | None = Field(default=None, description="A plan file, beside the cases file.")
    files: Texts = Field(default_factory=list[str], description="Documents, or folders of them.")
    inputs: dict[str, str] = Field(default_factory=dict[str, str], description="Texts by name.")
    times: int | None = Field(default=None, ge=1, description="Runs of this case.")
    checks: Checks = Checks()

    @model_validator(mode="after")
    def _has_something_to_run(self) -> CaseSpec:
        if (self.objective is None) == (self.plan is None):
            raise ValueError("it has to have an objective or a plan, and not both")
        return self


class CasesSpec(_Written):
    """A whole file."""

    name: Name | None = Field(
        default=None, description="What its reports are kept under; the file's name if empty."
    )
    times: int = Field(default=3, ge=1, description="Runs of each case.")
    judge: Text | None = Field(default=None, description="The model of judges without their own.")
    memory: bool = Field(default=False, description="Whether runs go by the memory, and add to it.")
    cases: list[CaseSpec] = Field(min_length=1)
