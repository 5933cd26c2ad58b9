"""A stored run as `inspect` shows it: its plan, its timeline and its answer, then its figures."""

from __future__ import annotations

from collections.abc import Sequence

from ...result import SwarmResult
from ...tasks.report.memory import recalled_line, shown_line
from ...tasks.report.page import Section
from ...tasks.report.pages import answer_page, plan_page, timeline_page
from ...tasks.report.taken import taken_line
from ...tasks.report.view import RunView
from ...text import one_line, plural
from .explored import print_exploration
from .pages import print_sections
from .printing import print_section, print_text
from .summary import example_step, metrics_line

__all__ = ["print_run"]


def print_run(view: RunView, result: SwarmResult | None) -> None:
    """Print how a run ended, or how far it is.

    Args:
        view: The run.
        result: What it came to; None if it has not ended.
    """
    print_section(one_line(view.objective, 200))
    print_exploration(view.planning.explored if view.planning else None)
    pages = plan_page(view), timeline_page(view), answer_page(view)
    print_sections(_named(pages[0].sections, "Steps"), view)
    if not view.steps:
        print_text("It had no plan yet.")
    print_sections(_named(pages[1].sections, "Timeline"), view)
    if result is None:
        _print_unfinished(view)
        return
    wanted = ["Answer"] if view.answer else []
    print_sections(_named(pages[2].sections, *wanted, "What went wrong"), view)
    print_section(f"Run {view.run_id} is {view.status}.")
    print_text(metrics_line(result))
    for line in (taken_line(result.steps), shown_line(result.planning)):
        if line:
            print_text(line)
    if recalled := recalled_line(result):
        print_text(f"Recalled {recalled}")
    print_text(f"Look closer: prefect-swarm inspect {view.run_id} [--step {example_step(result)}]")


def _print_unfinished(view: RunView) -> None:
    if view.steps:
        done = sum(step.output is not None for step in view.steps)
        print_text(f"{done} of {plural(len(view.steps), 'step')} finished.")
    if taken := taken_line([step.result for step in view.steps]):
        print_text(taken)
    begun = next((step.id for step in view.steps if step.result.attempts), None)
    if begun is not None:
        print_text(f"Look closer: prefect-swarm inspect {view.run_id} --step {begun}")
    if view.problem:
        print_text(view.problem)


def _named(sections: Sequence[Section], *titles: str) -> list[Section]:
    return [section for section in sections if section.title in titles]
