"""How two plans differ. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...frozen import Frozen
from ...task_ir import TaskIR

__all__ = ["FieldChange", "PlanDifference", "StepChange", "compare_plans"]

_OF_AGENTS = ("system_prompt", "tier", "tools")
_NAMES = {"depends_on": "needs", "system_prompt": "instructions"}
_APART = ("agents", "steps", "inputs")


class FieldChange(Frozen):
    """A field that differs, with both values as text: words as they are, all else as JSON."""

    field: str
    before: str
    after: str


class StepChange(Frozen):
    """What differs in a step that both plans have."""

    step: str
    changes: tuple[FieldChange, ...]


class PlanDifference(Frozen):
    """What one plan has otherwise than another.

    Attributes:
        added: Ids of the steps that the second alone has, in its order.
        removed: Ids of the steps that the first alone has, in its order.
        changed: Steps under the same id in both, in the second's order.
        inputs: Names of the inputs that one alone has, or whose texts differ.
        fields: What differs in the plan as a whole.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[StepChange, ...] = ()
    inputs: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the plans are the same."""
        return not any((self.added, self.removed, self.changed, self.inputs, self.fields))


def compare_plans(before: TaskIR, after: TaskIR) -> PlanDifference:
    """Return how the second plan differs from the first.

    A step has its agent's instructions, tier and tools; an agent whom no step names doesn't count.
    """
    old, new = _steps(before), _steps(after)
    changed = (
        StepChange(step=name, changes=changes)
        for name, fields in new.items()
        if name in old and (changes := tuple(_changes(old[name], fields)))
    )
    names = {**before.inputs, **after.inputs}
    return PlanDifference(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(changed),
        inputs=tuple(n for n in names if before.inputs.get(n) != after.inputs.get(n)),
        fields=tuple(_changes(_whole(before), _whole(after))),
    )


def _steps(plan: TaskIR) -> dict[str, dict[str, Any]]:
    data = plan.model_dump(mode="json", by_alias=True)
    agents = {agent["name"]: agent for agent in data["agents"]}
    return {
        step["id"]: {**step, **{name: agents[step["agent"]][name] for name in _OF_AGENTS}}
        for step in data["steps"]
    }


def _whole(plan: TaskIR) -> dict[str, Any]:
    return plan.model_dump(mode="json", exclude=set(_APART))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name, value in after.items():
        if before.get(name) != value:
            field = _NAMES.get(name, name)
            yield FieldChange(field=field, before=_text(before.get(name)), after=_text(value))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
