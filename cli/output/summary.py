"""What a person reads of a run that ended: at its end, and later from its folder."""

from __future__ import annotations

from collections.abc import Sequence

from ...result import Metrics, StepResult, SwarmResult
from ...tasks.report.explained import time_line
from ...tasks.report.lines import taken_line, token_words
from ...tasks.report.memory import recalled_line, shown_line
from ...tasks.report.page import Section
from ...tasks.report.pages import answer_page, plan_page, timeline_page
from ...tasks.report.timeline import LEGEND, timeline
from ...tasks.report.view import RunView
from ...text import dollars, duration, one_line, plural
from .pages import print_sections
from .printing import console, drawable, print_artifact, print_section, print_table, print_text
from .run_details import print_exploration

__all__ = ["example_step", "metrics_line", "print_run", "print_summary"]


_RIGHT = frozenset({"Tries", "Tokens", "Work"})


def print_summary(
    result: SwarmResult, link: str | None = None, *, look_closer: bool = True
) -> None:
    """Print the plan, the timeline, the answer, the figures and what to do next.

    Args:
        result: A finished run.
        link: Its page in the Prefect UI.
        look_closer: Say how to see more of it; not where that is said elsewhere.
    """
    print_exploration(result.planning.explored)
    print_section(f"Plan of {plural(len(result.steps), 'step')} ({_origin(result)})")
    _print_steps(result)
    if drawn := timeline(result.steps, console().width):
        print_section(drawable(f"Timeline   {LEGEND}"), map(drawable, drawn))
    if result.answer:
        print_section("Answer")
        print_artifact(result.answer)
    if result.problem:
        print_section("Problems")
        print_text(result.problem)
    print_section(f"Run {result.run_id} is {result.status}.")
    print_text(metrics_line(result))
    if result.time is not None:
        print_text(f"Time: {time_line(result.time)}")
    if taken := taken_line(result.steps):
        print_text(taken)
    if shown := shown_line(result.planning):
        print_text(shown)
    if recalled := recalled_line(result):
        print_text(f"Recalled {recalled}")
    if look_closer:
        print_text(
            f"Look closer: prefect-swarm inspect {result.run_id} [--step {example_step(result)}]"
        )
    if link:
        print_text(f"Prefect UI:  {link}")


def metrics_line(result: SwarmResult) -> str:
    """Write the figures of a run in one line."""
    metrics, cost = result.metrics, result.cost
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    return " · ".join(
        (
            f"makespan {duration(metrics.makespan_s)}",
            f"critical path {duration(metrics.critical_path_s)}{_waited(metrics)}",
            f"work {duration(metrics.work_s)}",
            f"parallelism {metrics.parallelism:.2f}",
            f"speedup {metrics.speedup:.2f}",
            f"critical steps {metrics.critical_steps}",
            f"{plural(cost.calls, 'call')}, {token_words(cost)}{money}",
        )
    )


def _waited(metrics: Metrics) -> str:
    waited = metrics.critical_wait_s
    return f" and {duration(waited)} of waiting" if waited >= 0.1 else ""


def _origin(result: SwarmResult) -> str:
    planning = result.planning
    if planning.source == "user":
        return "given"
    if planning.source == "fork":
        return f"that of run {planning.forked_from}{planning.choice and ', '}{planning.choice}"
    score = "" if planning.score is None else f", score {planning.score:.2f}"
    return f"by {planning.model}{score}"


def _print_steps(result: SwarmResult) -> None:
    needs = {step.id: step for step in result.plan.steps}
    rows = [
        (
            step.id,
            one_line(step.agent, 28),
            one_line(", ".join(needs[step.id].depends_on), 20),
            step.status,
            str(len(step.attempts)),
            f"{sum(attempt.usage.tokens for attempt in step.attempts):,}",
            duration(sum(attempt.duration_s for attempt in step.attempts)),
            one_line(step.reason or asked(step) or needs[step.id].prompt, 200),
        )
        for step in result.steps
    ]
    header = ("Step", "Agent", "Needs", "Status", "Tries", "Tokens", "Work", "Prompt or reason")
    print_table(header, rows, right=_RIGHT)


def asked(step: StepResult) -> str:
    """What was asked, and what that took the place of."""
    return f"{step.change}: {step.prompt} (it was {step.planned})" if step.change else step.prompt


def example_step(result: SwarmResult) -> str:
    """Return the step that is most worth a closer look."""

    def trouble(step: StepResult) -> bool:
        return step.status != "succeeded"

    return next((step.id for step in result.steps if trouble(step)), result.steps[-1].id)


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
    if result.time is not None:
        print_text(f"Time: {time_line(result.time)}")
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
