"""A run's page says what each turn took, what that is worth, and which steps seem idle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prefect_swarm.metrics.parl import CollapseFinding, ParlFigures, TurnSteps
from prefect_swarm.report.attempts_page import MOST_LINES, figures
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import RunView
from prefect_swarm.report.parl_figures import critical_words, finding_words, turns_table
from prefect_swarm.report.run_pages import timeline_page
from report_views import busy_view

WAITED = CollapseFinding(kind="waited", step="S3", other="S1")
PARL = ParlFigures(
    turns=(
        TurnSteps(number=1, orchestrator=1, groups=(3, 4)),
        TurnSteps(number=2, orchestrator=2),
    ),
    critical_steps=10,
    r_parallel=0.456,
    r_finish=0.75,
    r_perf=0.3,
    summed_reward=0.4206,
    mixed_reward=0.0456,
    findings=(WAITED,),
)


def page_of(view: RunView) -> str:
    return page_markdown(timeline_page(view), lambda name: f"#{name}", lambda _: "")


def with_findings(count: int) -> ParlFigures:
    found = (CollapseFinding(kind="unread", step=f"S{n}") for n in range(1, count + 1))
    return PARL.model_copy(update={"findings": tuple(found)})


def test_the_timelines_page_has_the_turns_and_leads_to_the_steps_that_seem_idle() -> None:
    text = page_of(replace(busy_view(), parl=PARL))
    assert "## Turns" in text
    assert "| 1 | 8 | 1 | 3 + 4 |" in text
    assert "| 2 | 2 | 2 |  |" in text
    assert "## Steps that may cost time for nothing" in text
    assert "[S3](#S3) waited for S1 and seems to read nothing of it." in text


def test_without_them_the_page_has_neither() -> None:
    text = page_of(busy_view())
    assert "## Turns" not in text
    assert "for nothing" not in text
    assert "for nothing" not in page_of(replace(busy_view(), parl=with_findings(0)))


def test_the_figures_follow_those_of_the_run() -> None:
    found = figures(replace(busy_view(), parl=PARL))
    assert found
    assert [(each.name, each.value) for each in found.figures][-6:] == [
        ("critical steps by turn", "10"),
        ("r_parallel", "0.46"),
        ("r_finish", "0.75"),
        ("r_perf", "0.30"),
        ("reward, summed", "0.42"),
        ("reward, mixed", "0.05"),
    ]


def test_many_groups_and_findings_are_bounded() -> None:
    many = PARL.model_copy(
        update={"turns": (TurnSteps(number=1, orchestrator=1, groups=(1,) * 50),)}
    )
    assert turns_table(many).rows[0][-1] == f"{' + '.join(['1'] * 20)} and 30 more groups"
    text = page_of(replace(busy_view(), parl=with_findings(MOST_LINES + 3)))
    assert "3 more." in text
    lines = finding_words(with_findings(7))
    assert lines[-1] == "2 more: see the timeline's page."
    assert len(lines) == 6


@pytest.mark.parametrize(
    ("path", "parl", "words"), [(10, PARL, "10"), (8, PARL, "8 (10 by turn)"), (8, None, "8")]
)
def test_the_summary_has_both_counts_only_where_they_differ(
    path: int, parl: ParlFigures | None, words: str
) -> None:
    assert critical_words(path, parl) == words
