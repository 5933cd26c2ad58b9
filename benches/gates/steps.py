"""The steps that the bench has done: what an orchestrator would ask, whole and exact.

    {"id": "square", "kind": "python", "prompt": "Write a Python function square(n) that …",
     "output": {"examples": [{"call": "square(3)", "gives": 9}]}}

`output` is that of a plan's step without its kind. What is in it the gates see, as in any plan.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast

from prefect_swarm.errors import InputError
from prefect_swarm.plan.task_ir import Output, describe
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

__all__ = ["KINDS", "STEPS", "Asked", "Kind", "load_steps"]

STEPS = Path(__file__).with_name("steps.jsonl")

Kind = Literal["python", "shell", "json", "text"]
KINDS: tuple[Kind, ...] = ("python", "shell", "json", "text")


class Asked(BaseModel):
    """One step."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Kind
    prompt: str = Field(min_length=1)
    output: Output

    @model_validator(mode="before")
    @classmethod
    def _kind_is_the_outputs(cls, data: Any) -> Any:
        fields = cast("dict[str, Any]", data)
        return {**fields, "output": {"kind": fields.get("kind"), **fields.get("output", {})}}


def load_steps(path: Path = STEPS) -> list[Asked]:
    """Read a file of steps.

    Raises:
        InputError: A line breaks a rule or has another's id; it names the line.
    """
    found: dict[str, Asked] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            asked = Asked.model_validate_json(line)
        except ValidationError as error:
            problems = "; ".join(describe(error))
            raise InputError(f"Line {number} of {path} is not a step: {problems}.") from None
        if asked.id in found:
            raise InputError(f"Line {number} of {path} has the id {asked.id!r} of another.")
        found[asked.id] = asked
    return list(found.values())
