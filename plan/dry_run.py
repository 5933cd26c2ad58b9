"""Plans for a run whose acting calls are only written down: what such calls return. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import CallError
from .call import CallPlace, PlannedCall, call_words, filled_call, outputs_in, places_of_call
from .ids import parse_id
from .output import Output, StepOutput
from .pointers import pointer_parts
from .step import Step
from .task_ir import TaskIR

__all__ = ["DryPlan", "dry_plan", "plain_id"]


@dataclass(frozen=True, slots=True)
class DryPlan:
    """A plan that is run with its acting calls written down in place of made.

    Attributes:
        plan: It, without what is asked of the results of such calls.
        results: What such calls return, by the ids of their steps: JSON with each value that
            another call takes of it, or a text.
        marks: The texts that stand for values which only the calls themselves would return.
        undo: What would undo a step, in words, by its id.
    """

    plan: TaskIR
    results: Mapping[str, str]
    marks: frozenset[str]
    undo: Mapping[str, str]


def plain_id(step: str) -> str:
    """Return the id that a step has in the plan: `S2.S1` of `S2[7].S1`."""
    try:
        return ".".join(level.step for level in parse_id(step))
    except ValueError:
        return step


def dry_plan(plan: TaskIR, acting: Mapping[str, Collection[str]]) -> DryPlan:
    """Return a plan whose acting calls can be written down in place of made.

    Calls that take a value of such a call's result are written down, too.

    Args:
        plan: The plan.
        acting: The names of the tools that act, by the name of their toolset.
    """
    level = _Level(acting)
    steps = level.steps(plan.steps, "")
    marks = frozenset(level.marks)
    return DryPlan(plan.model_copy(update={"steps": steps}), level.results, marks, level.undo)


@dataclass(frozen=True, slots=True)
class _Level:
    acting: Mapping[str, Collection[str]]
    results: dict[str, str] = field(default_factory=dict[str, str])
    marks: set[str] = field(default_factory=set[str])
    undo: dict[str, str] = field(default_factory=dict[str, str])

    def steps(self, steps: tuple[Step, ...], within: str) -> tuple[Step, ...]:
        """Return the steps of one plan, and note what those return that are written down."""
        taken = [place for call in _calls(steps) for place in places_of_call(call) if place.step]
        recorded: dict[str, StepOutput] = {}
        return tuple(self._step(step, within, taken, recorded) for step in steps)

    def _step(
        self,
        step: Step,
        within: str,
        taken: Iterable[CallPlace],
        recorded: dict[str, StepOutput],
    ) -> Step:
        if step.pool is not None:
            # On a work pool another process would make the calls.
            step = step.model_copy(update={"pool": None})
        if step.plan is not None:
            inner = self.steps(step.plan.steps, f"{within}{step.id}.")
            plan = step.plan.model_copy(update={"steps": inner})
            return step.model_copy(update={"plan": plan})
        if (call := step.call) is not None and self._is_recorded(call, recorded):
            text = self._result(step, [place.pointer for place in taken if place.step == step.id])
            recorded[step.id] = StepOutput(name=step.id, kind=step.output.kind, text=text)
            self.results[f"{within}{step.id}"] = text
            update = {
                "call": call.model_copy(update={"expect": None}),
                "output": Output(kind=step.output.kind),
                "gates": (),
            }
            step = step.model_copy(update=update)
        if step.undo is not None:
            self.undo[f"{within}{step.id}"] = _undo_words(step.undo, recorded.values())
        return step

    def _is_recorded(self, call: PlannedCall, recorded: Collection[str]) -> bool:
        acts = call.tool in self.acting.get(call.toolset, ())
        return acts or not {*outputs_in(call)}.isdisjoint(recorded)

    def _result(self, step: Step, pointers: Iterable[str]) -> str:
        if step.output.kind != "json":
            return self._mark(step.id, "")
        made: dict[str, Any] = {}
        # A shorter pointer is there once a longer one is.
        for pointer in sorted(pointers, key=lambda each: len(pointer_parts(each)), reverse=True):
            at: Any = made
            *above, last = pointer_parts(pointer) or [""]
            for part in above:
                at = at.setdefault(part, {})
            if pointer:
                at.setdefault(last, self._mark(step.id, pointer))
        return json.dumps(made, ensure_ascii=False)

    def _mark(self, step: str, pointer: str) -> str:
        mark = f"(what {step} returns{f' at {pointer}' if pointer else ''})"
        self.marks.add(mark)
        return mark


def _calls(steps: Iterable[Step]) -> Iterable[PlannedCall]:
    return (call for step in steps for call in (step.call, step.undo) if call is not None)


def _undo_words(undo: PlannedCall, outputs: Iterable[StepOutput]) -> str:
    try:
        return call_words(filled_call(undo, outputs, None))
    except CallError:
        # It takes a value of its item, or of what a model writes.
        return call_words(undo)
