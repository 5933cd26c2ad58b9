"""What pages show of a run's compiled plan: whatever else is in the file is passed over."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ...runs import RunFolder
from ...untrusted.opening import PlainName

__all__ = ["ShownPlan", "ShownStep", "planned_of"]

_MOST_STEPS = 10_000
_Text = Annotated[str, BeforeValidator(str)]


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _ShownOutput(_Shown):
    kind: str = "text"


class ShownStep(_Shown):
    """A step as it was compiled; `inputs` is None where it reads what its place gives it."""

    id: PlainName
    agent: str = ""
    prompt: str = ""
    upstream: tuple[PlainName, ...] = ()
    output: _ShownOutput = _ShownOutput()
    optional: bool = False
    inputs: tuple[str, ...] | None = None


def _in_order(steps: tuple[ShownStep, ...]) -> tuple[ShownStep, ...]:
    earlier: set[str] = set()
    for step in steps:
        if step.id in earlier or not earlier.issuperset(step.upstream):
            raise ValueError(f"{step.id} is there twice, or needs a step that is not before it")
        earlier.add(step.id)
    return steps


class ShownPlan(_Shown):
    """A plan as it was compiled; `edits` is how often a person had edited it.

    Attributes:
        inputs: The texts that the run was given, by their names.
    """

    steps: Annotated[
        tuple[ShownStep, ...], Field(max_length=_MOST_STEPS), AfterValidator(_in_order)
    ] = ()
    inputs: tuple[tuple[str, _Text], ...] = ()
    edits: int = Field(default=0, ge=0, le=1_000_000)


def planned_of(run: RunFolder) -> ShownPlan:
    """Return the plan that a run has; one without steps where it has none yet.

    Raises:
        RunDamagedError: Its file is no plan.
    """
    found: dict[str, Any] = run.read_json("plan.json")
    with run.readable("plan.json"):
        return ShownPlan.model_validate(found)
