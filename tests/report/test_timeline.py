"""Timelines and tables are drawn to the width there is."""

from __future__ import annotations

from prefect_swarm.cli.terminal.printing import table_lines
from prefect_swarm.errors import Category
from prefect_swarm.report.lines import bars, timeline
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.step import StepState


def step(name: str, *attempts: Attempt, critical: bool = False) -> StepState:
    return StepState(
        id=name,
        agent="Ann",
        status="succeeded",
        attempts=attempts,
        critical=critical,
        slack_s=0.0 if critical else 2.0,
    )


def attempt(number: int, start: float, end: float, queue_s: float = 0, failed: bool = False):
    return Attempt(
        number=number,
        tier="worker",
        model="m",
        started_at=1000 + start,
        ended_at=1000 + end,
        queue_s=queue_s,
        category=Category.FORMAT if failed else None,
    )


def drawn(*steps: StepState, width: int = 10) -> list[str]:
    found = bars(steps)
    return [bar.line(width, max(bar.end_s for bar in found)) for bar in found]


def test_seconds_count_from_where_the_run_began() -> None:
    (found,) = bars([step("S1", attempt(1, 2, 4))], origin=attempt(1, 0, 1).started_at)
    assert (found.start_s, found.end_s) == (2.0, 4.0)


def test_steps_that_ran_at_once_overlap() -> None:
    assert drawn(step("S1", attempt(1, 0, 10)), step("S2", attempt(1, 0, 5))) == [
        "██████████",
        "█████     ",
    ]


def test_waiting_for_the_model_is_told_from_working() -> None:
    assert drawn(step("S1", attempt(1, 0, 10, queue_s=4))) == ["░░░░██████"]


def test_each_attempt_has_a_line_and_a_failed_one_shows() -> None:
    tries = (attempt(1, 0, 4, failed=True), attempt(2, 5, 10))
    assert drawn(step("S1", *tries)) == ["▒▒▒▒      ", "     █████"]


def test_an_attempt_too_short_to_see_is_seen() -> None:
    assert drawn(step("S1", attempt(1, 0, 100)), step("S2", attempt(1, 100, 100)))[1] == (
        "         █"
    )


def test_the_critical_path_has_a_star_and_the_others_their_slack() -> None:
    lines = timeline(
        [step("S1", attempt(1, 0, 10), critical=True), step("S2", attempt(2, 0, 8))], 100
    )
    assert lines[0].startswith("* S1 Ann ")
    assert lines[0].endswith("| 0.0 to 10.0 s")
    assert lines[1].startswith("  S2 Ann #2 ")
    assert lines[1].endswith("| 0.0 to 8.0 s, slack 2.0 s")


def test_a_run_in_which_nothing_ran_has_no_timeline() -> None:
    assert timeline([step("S1")], 100) == []


def test_only_the_last_column_of_a_table_is_cut() -> None:
    rows = [("S1", "a long agent's name", "a prompt that is far too long to be shown here")]
    header, rule, row = table_lines(("Step", "Agent", "Prompt"), rows, 50)
    assert header == "Step  Agent                Prompt"
    assert len(rule) == 50
    assert row == "S1    a long agent's name  a prompt that is far t…"


def test_wide_characters_keep_a_table_straight() -> None:
    lines = table_lines(("A", "B"), [("比較", "x"), ("ab", "y")], 40)
    assert lines[2:] == ["比較  x", "ab    y"]


def test_figures_stand_to_the_right() -> None:
    lines = table_lines(("N", "B"), [("1", "x"), ("100", "y")], 40, frozenset({"N"}))
    assert lines[2:] == ["  1  x", "100  y"]


def test_an_attempt_is_drawn_in_the_row_of_its_agent() -> None:
    first = attempt(1, 0, 1, failed=True).model_copy(update={"agent": "Bea"})
    assert [bar.agent for bar in bars([step("S1", first, attempt(2, 1, 2))])] == ["Bea", "Ann"]
