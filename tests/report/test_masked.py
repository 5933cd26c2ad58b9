"""No page has a secret, before anything of it is cut."""

from __future__ import annotations

from dataclasses import replace

from prefect_swarm.report.page import Page, Paragraph, Quoted, Section, masked
from prefect_swarm.store.step import StepState
from report_views import busy_view

HIDDEN = "hunter22-correct-horse"


def test_a_known_value_is_masked_wherever_it_stands() -> None:
    view = busy_view()
    leaked = view.steps[0].state.model_copy(update={"reason": f"refused {HIDDEN}"})
    step = replace(view.steps[0], state=leaked, output=f"it is {HIDDEN}")
    shown = masked(replace(view, answer=HIDDEN, steps=(step, *view.steps[1:])), {HIDDEN})
    assert HIDDEN not in repr(shown)
    assert "…masked…" in shown.steps[0].state.reason


def test_what_has_no_secret_stays_the_same_object() -> None:
    step = StepState(id="S1", agent="Clerk", prompt="count tokens", status="succeeded")
    assert masked(step, {HIDDEN}) is step


def test_what_stands_in_a_list_is_masked_too() -> None:
    page = Page("S1", "A step", [Paragraph(("lead", HIDDEN))], [Section("More", [Quoted(HIDDEN)])])
    assert HIDDEN not in repr(masked(page, {HIDDEN}))
