"""The HTML document: head, navigation, pages, and steps that open. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..text import dollars, duration, one_line, plural
from .members import top_level
from .page import Block, Drawing, Page, Paragraph, Ref, RunView, Section, StepView, Strong
from .prose_html import coloured, cut_pages, prose
from .svg.costs import costs_says, costs_svg
from .svg.graph import graph_svg
from .svg.theme import DARK, LIGHT, SIGNS, amount, finished, harmless, safe
from .svg.timeline import timeline_svg

__all__ = [
    "MOST_CHARS",
    "Fact",
    "facts_of",
    "fragment_html",
    "page_html",
    "report_html",
    "sign_of",
    "step_line",
]


_SIGNS = {"completed": "succeeded", "partial": "ready", "passed": "succeeded", "error": "failed"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure of the head; `small` stands below it."""

    name: str
    value: str
    small: str = ""


def facts_of(view: RunView) -> list[Fact]:
    """Return the figures that a reader wants first."""
    steps = top_level(view.steps)
    counts = Counter(step.status for step in steps)
    shown = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    facts = [Fact("Steps", f"{len(steps):,}", shown)]
    if more := len(view.steps) - len(steps):
        own = {step.id for step in steps}
        failed = sum(step.status == "failed" for step in view.steps if step.id not in own)
        facts.append(Fact("Members", f"{more:,}", f"{failed:,} failed" if failed else ""))
    if view.metrics is not None:
        path = f"critical path {duration(view.metrics.critical_path_s)}"
        facts.append(Fact("Time", duration(view.metrics.makespan_s), path))
        wide = f"parallelism {view.metrics.parallelism:.2f}"
        facts.append(Fact("Speedup", f"{view.metrics.speedup:.2f}×", wide))
    cost = view.cost
    facts.append(Fact("Tokens", amount(cost.tokens), plural(cost.calls, "call")))
    if cost.money_usd is not None:
        facts.append(Fact("Cost", dollars(cost.money_usd)))
    return facts


def sign_of(status: str) -> str:
    """Return the status of a step whose sign a run's status or a gate's verdict has."""
    return _SIGNS.get(status, status)


def step_line(step: StepView) -> str:
    """Say in a few words what a step took."""
    tries = step.state.attempts
    if step.state.summary:
        return one_line(f"{step.status}: {step.state.summary}", 120)
    if step.state.by_condition:
        return one_line(step.state.reason, 120)
    if not tries:
        return step.status
    worked = duration(sum(attempt.duration_s for attempt in tries))
    again = f", {len(tries)} attempts" if len(tries) > 1 else ""
    critical = ", critical path" if step.state.critical else ""
    return f"{step.status} in {worked}{again}{critical}"


MOST_TITLE = 400
MOST_CHARS = 4_000_000
"""Characters of all texts of a document together."""
_LONGEST = 100_000
_SMALL_BUDGET, _SMALL_LONGEST = 200_000, 20_000


def _kind(block: object) -> str:
    return type(block).__name__


_FILTERS: dict[str, Any] = {
    "coloured": coloured,
    "harmless": harmless,
    "kind": _kind,
    "prose": prose,
    "safe_text": safe,
    "sign_of": sign_of,
    "step_line": step_line,
}


def report_html(view: RunView, pages: Sequence[Page]) -> str:
    """Write a whole document, of some megabytes at most, that a browser shows without a network.

    Args:
        view: The run, without secrets.
        pages: Its pages; those that are named after a step become steps that open.
    """
    return _rendered("report.html.j2", view, cut_pages(pages, MOST_CHARS, _LONGEST), "page-")


def fragment_html(view: RunView, pages: Sequence[Page]) -> str:
    """Write the same, smaller, as a part of another document: a notebook."""
    small = cut_pages(pages, _SMALL_BUDGET, _SMALL_LONGEST)
    return _rendered("fragment.html.j2", view, small, f"run-{view.run_id}-")


def page_html(page: Page, drawing: str = "", says: str = "") -> str:
    """Write a page that is about no run as a document of its own.

    Args:
        page: What it says, without secrets.
        drawing: An SVG that is shown first, made by a template that escapes; "" for none.
        says: The same in words.
    """
    (cut,) = cut_pages([page], MOST_CHARS, _LONGEST)
    filled = _environment().get_template("page.html.j2")
    shown = Markup(drawing)  # noqa: S704 - made by a template that escapes
    return filled.render(page=cut, drawing=shown, says=says, light=LIGHT, dark=DARK, signs=SIGNS)


def _rendered(template: str, view: RunView, pages: Sequence[Page], anchor: str) -> str:
    steps = {step.id: step for step in view.steps}
    pages = [_fitted(page, view) for page in _with_costs(pages, view)]
    return (
        _environment()
        .get_template(template)
        .render(
            view=view,
            pages=[page for page in pages if page.name not in steps],
            steps=[(steps[page.name], page) for page in pages if page.name in steps],
            names={page.name for page in pages},
            anchor=anchor,
            most_title=MOST_TITLE,
            facts=facts_of(view),
            drawing=partial(_drawing, view, anchor),
            light=LIGHT,
            dark=DARK,
            signs=SIGNS,
        )
    )


def _with_costs(pages: Sequence[Page], view: RunView) -> list[Page]:
    """Add what the run took, if no page draws it."""
    shown = [block for page in pages for part in page.sections for block in part.blocks]
    if any(isinstance(block, Drawing) and block.kind == "costs" for block in shown):
        return [*pages]
    drawing = Section("Tokens and money", [Drawing("costs", costs_says(view))])
    return [*pages, Page("costs", "Costs", [], [drawing])]


def _fitted(page: Page, view: RunView) -> Page:
    """Leave out what the head of the document has: the ways to other pages, status, objective."""
    steps = frozenset(step.id for step in view.steps)
    if page.name in steps:
        return page
    lead = [b for b in page.lead if not _is_way(b, steps) and not _is_status(b, view.status)]
    shown = len(view.objective) <= MOST_TITLE
    parts = [part for part in page.sections if not (shown and part.title == "Objective")]
    return replace(page, lead=lead, sections=parts)


def _is_way(block: Block, steps: frozenset[str]) -> bool:
    if not isinstance(block, Paragraph):
        return False
    pages = [text.page for text in block.texts if isinstance(text, Ref)]
    return len(pages) > 1 and steps.isdisjoint(pages)


def _is_status(block: Block, status: str) -> bool:
    return isinstance(block, Paragraph) and block.texts[:1] == (Strong(status),)


def _drawing(view: RunView, anchor: str, kind: str) -> Markup:
    drawn = {
        "graph": lambda: graph_svg(view, anchor=anchor),
        "timeline": lambda: timeline_svg(view, anchor=anchor),
        "costs": lambda: costs_svg(view),
    }
    return Markup(drawn[kind]())  # noqa: S704 - made by templates that escape


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__name__.rpartition(".")[0]),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment
