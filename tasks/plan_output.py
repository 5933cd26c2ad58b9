"""What a planner that gives structured output may ask of a step's output.

Values and schemas are texts of JSON: what a provider accepts as a strict form has no free values.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from ..errors import PlanError
from ..output import Form, OutputKind

__all__ = ["PlannedOutput"]


class PlannedExample(BaseModel):
    """A call of the step's code, and what it has to give."""

    call: str = Field(description="A Python expression over the names that the code defines.")
    gives: str = Field(description="Its value, as JSON.")


class PlannedOutput(BaseModel):
    """What an assignment has to produce; what is stated here is checked."""

    kind: OutputKind = "text"
    examples: list[PlannedExample] = Field(
        default_factory=list[PlannedExample],
        description="For python: calls whose value follows from the objective.",
    )
    json_schema: str = Field(default="", description="For json: its JSON Schema 2020-12, as JSON.")
    sections: list[str] = Field(
        default_factory=list[str], description="For text: headings it has to have, in order."
    )
    min_words: int | None = Field(default=None, description="For text.")
    max_words: int | None = Field(default=None, description="For text.")
    form: Form | None = Field(default=None, description="For text: what the whole of it has to be.")

    def data(self, step: str) -> dict[str, Any]:
        """Return it as a plan has it.

        Raises:
            PlanError: A text of JSON is none; says whose.
        """
        given: dict[str, Any] = self.model_dump(exclude={"examples", "json_schema"})
        given["examples"] = [
            {"call": one.call, "gives": _value(one.gives, f"{step}.output.examples.{number}.gives")}
            for number, one in enumerate(self.examples)
        ]
        if self.json_schema.strip():
            given["schema"] = _value(self.json_schema, f"{step}.output.json_schema")
        return given


def _value(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        problem = f"step {place}: {text[:80]!r} is no JSON: {error}"
        raise PlanError(problem, "Write it as JSON.") from None
