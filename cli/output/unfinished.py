"""A run that has not ended, as its files tell it: its plan, and how far each step is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...result import StepResult
from ...tasks.report.taken import taken_line
from ...tasks.report.timeline import LEGEND, timeline
from ...text import one_line, plural
from .asked import question_records
from .explored import exploration_of, print_exploration
from .printing import console, print_json, print_section, print_table, print_text
from .summary import asked

if TYPE_CHECKING:
    from ...runs import RunFolder

__all__ = ["print_unfinished", "print_unfinished_json"]

_COLUMNS = ("Step", "Agent", "Tier", "Needs", "Finished", "Tries", "Prompt or reason")


def print_unfinished_json(run: RunFolder, plan: Mapping[str, Any]) -> None:
    """Print as JSON what there is: the plan, what is finished, and the steps that were begun."""
    about, explored = run.about(), exploration_of(run)
    print_json(
        {
            "run_id": run.run_id,
            "flow_run_id": about.get("flow_run_id"),
            "status": "unfinished",
            "objective": about.get("objective"),
            "plan": plan or None,
            "finished_steps": list(run.finished_steps()),
            "steps": [step.model_dump(mode="json") for step in run.steps()],
            "questions": question_records(run),
            "explored": explored.model_dump(mode="json") if explored else None,
        }
    )


def print_unfinished(run: RunFolder, plan: Mapping[str, Any]) -> None:
    """Print the plan with what became of each step so far, and the attempts on a time axis."""
    done, begun = set(run.finished_steps()), {step.id: step for step in run.steps()}
    print_section(one_line(str(run.about().get("objective", "")), 200))
    print_exploration(exploration_of(run))
    if plan:
        rows = [_row(step, begun.get(step["id"]), step["id"] in done) for step in plan["steps"]]
        print_table(_COLUMNS, rows, right=frozenset({"Tries"}))
        print_text(f"{len(done)} of {plural(len(rows), 'step')} finished.")
        if taken := taken_line(list(begun.values())):
            print_text(taken)
    else:
        print_text("It had no plan yet.")
    if drawn := timeline(list(begun.values()), console().width):
        print_section(f"Timeline   {LEGEND}", drawn)
    again = next((step.id for step in begun.values() if step.attempts), None)
    if again is not None:
        print_text(f"Look closer: prefect-swarm inspect {run.run_id} --step {again}")
    print_text(
        "The run has not ended. If nothing runs it any more: prefect-swarm resume " + run.run_id
    )


def _row(planned: Mapping[str, Any], now: StepResult | None, finished: bool) -> tuple[str, ...]:
    status = (now.reason or asked(now)) if now else ""
    return (
        planned["id"],
        one_line(now.agent if now else planned["agent"], 30),
        planned["tier"],
        one_line(", ".join(planned["upstream"]), 24),
        "yes" if finished else "",
        str(len(now.attempts)) if now else "",
        one_line(status or planned["prompt"], 300),
    )
