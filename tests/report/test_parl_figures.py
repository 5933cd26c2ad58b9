"""A run's page says what each turn took, what that is worth, and which steps seem idle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prefect_swarm.metrics.parl import CollapseFinding, ParlFigures, TurnSteps
from prefect_swarm.report.attempts_page import figures
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import MOST_LINES, RunView, Table, TurnView
from prefect_swarm.report.parl_figures import critical_words, finding_words, turn_blocks
from prefect_swarm.report.run_pages import plan_page, timeline_page
from prefect_swarm.report.step_page import step_page
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
    assert "8 = 1 + 3 + 4" in text
    assert "in each turn the orchestrator's calls" in text
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
    (table, _) = turn_blocks(replace(busy_view(), parl=many))
    assert isinstance(table, Table)
    assert f"51 = {' + '.join(['1'] * 21)} and 30 more groups" in table.rows[0]
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


TURNS = (
    TurnView(
        number=2,
        began_at=1004.5,
        cause="seen",
        steps=("S3", "S4"),
        given_up=("S2",),
        look_after=("S3",),
        work_s=2.0,
        tokens=1234,
    ),
    TurnView(number=3, cause="failed", refused="Too dear.", work_s=1.0, tokens=10),
    TurnView(number=4, cause="over", finished=True),
)


def test_each_later_turn_says_when_why_what_it_decided_and_what_it_took() -> None:
    (table,) = turn_blocks(replace(busy_view(), began_at=1000.0, turns=TURNS))
    assert isinstance(table, Table)
    assert table.header == ("Turn", "Start", "Took", "Tokens", "Why", "What it decided")
    first, second, third, last = table.rows
    assert first[-2:] == ("the plan", "assigned S1, S2, S5 to S9")
    assert second == (
        "2",
        "4.5 s",
        "2.0 s",
        "1,234",
        "what it wanted is there",
        "assigned S3, S4; gave up S2; next after S3",
    )
    assert third[-2:] == ("a step has failed", "rejected by a person: Too dear.")
    assert last[-2:] == ("nothing is left", "the answer")


def test_turns_and_their_critical_steps_are_one_section() -> None:
    text = page_of(replace(busy_view(), parl=PARL, turns=TURNS))
    assert text.count("## Turns") == 1
    (line,) = [line for line in text.splitlines() if "assigned S3" in line]
    assert line.startswith("| 2 |")
    assert " 2 |" in line


def test_a_step_knows_the_turn_that_assigned_it() -> None:
    view = replace(busy_view(), turns=TURNS)
    assert [view.turn_of(name) for name in ("S1", "S3", "S4[2]", "odd")] == [1, 2, 2, 1]
    assert replace(view, turns=()).turn_of("S3") == 1
    steps = {step.id: step for step in view.steps}
    lead = "Assigned in turn 2 of the orchestrator."
    pages = {name: str(step_page(view, steps[name]).lead) for name in ("S1", "S3")}
    assert lead in pages["S3"]
    assert lead not in pages["S1"]


def test_the_plans_table_has_a_column_of_turns_only_where_there_are_turns() -> None:
    plain, turned = (
        page_markdown(plan_page(view), lambda name: f"#{name}", lambda _: "")
        for view in (busy_view(), replace(busy_view(), turns=TURNS))
    )
    assert "| Turn |" not in plain
    assert "| Step | Turn |" in turned
