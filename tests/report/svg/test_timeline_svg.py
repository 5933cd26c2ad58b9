"""The timeline shows what each attempt did when, and what the run waited for."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.metrics.clock import RunTime, Stretch
from prefect_swarm.report.page import RunView
from prefect_swarm.report.svg.timeline import lanes, nice_step, timeline_says, timeline_svg
from prefect_swarm.store.attempt import Attempt
from report_views import HOSTILE, attempt, busy_view, failed, large_view, step, view_of_steps

SVG = "{http://www.w3.org/2000/svg}"


def titles(drawing: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(drawing).iter(f"{SVG}title")]


def from_its_first_step(*tries: Attempt) -> RunView:
    return replace(view_of_steps(step("S1", "Reader", *tries)), began_at=0.0)


def test_an_attempt_waits_works_and_is_checked() -> None:
    (lane,), _ = lanes(from_its_first_step(failed(1, 0, 4, queue_s=1.0)))
    (turn,) = lane.turns
    assert [(span.kind, span.start_s, span.end_s) for span in turn.spans] == [
        ("wait", 0.0, 1.0),
        ("fail", 1.0, 4.0),
        ("gates", 4.0, pytest.approx(4.4)),
    ]


def test_what_is_between_two_attempts_is_shown() -> None:
    tries = (failed(1, 0, 2, queue_s=0.0), attempt(2, 5, 6, queue_s=0.0))
    (lane,), last_s = lanes(from_its_first_step(*tries))
    assert [span.kind for turn in lane.turns for span in turn.spans] == [
        "fail",
        "gates",
        "delay",
        "work",
    ]
    assert last_s == 6.0


def test_the_first_second_is_that_of_the_run() -> None:
    view = view_of_steps(step("S1", "Reader", attempt(1, 0, 4, queue_s=0.0)))
    (lane,), last_s = lanes(view)
    assert lane.turns[0].spans[0].start_s == 2.0
    assert last_s == 6.0


def test_gates_end_before_the_next_attempt_begins() -> None:
    tries = (failed(1, 0, 2), attempt(2, 2.1, 3))
    (lane,), _ = lanes(from_its_first_step(*tries))
    assert lane.turns[0].spans[-1].end_s == pytest.approx(2.1)


def test_each_attempt_can_be_read_where_it_is_pointed_at() -> None:
    found = titles(timeline_svg(busy_view()))
    assert len(found) == 9 - 1
    assert any("S3" in text and "failed by SCHEMA" in text and "ESCALATE" in text for text in found)


def test_a_run_in_which_nothing_ran_has_no_timeline() -> None:
    view = view_of_steps(step("S1", "Reader", status="waiting"))
    assert timeline_svg(view) == ""
    assert timeline_says(view) == "No step ran yet."


def test_three_hundred_steps_have_a_line_each() -> None:
    root = ElementTree.fromstring(timeline_svg(large_view()))
    assert (
        len({g.attrib["data-step"] for g in root.iter(f"{SVG}g") if "data-step" in g.attrib}) == 300
    )


def test_attempts_that_took_no_time_are_drawn() -> None:
    assert titles(timeline_svg(view_of_steps(step("S1", "Reader", attempt(1, 0, 0)))))


def test_what_a_model_wrote_is_text() -> None:
    view = view_of_steps(step("S1", HOSTILE, failed(1, 0, 2, error=HOSTILE, model=HOSTILE)))
    drawn = timeline_svg(view)
    tags = {each.tag for each in ElementTree.fromstring(drawn).iter()}
    assert tags.isdisjoint({f"{SVG}script", f"{SVG}img"})
    assert "&lt;script" in drawn


@given(st.floats(0.01, 1e6))
def test_ticks_are_few_enough(total_s: float) -> None:
    assert total_s / nice_step(total_s, 8) <= 8.0001


def test_the_time_of_the_whole_run_is_shown_by_what_it_went_to() -> None:
    stretches = (
        Stretch(kind="planning", started_at=998.0, ended_at=1000.0),
        Stretch(kind="model", step="S1", attempt=1, started_at=1000.0, ended_at=1004.0),
        Stretch(kind="prefect", started_at=1004.0, ended_at=1005.0),
    )
    view = view_of_steps(step("S1", "Reader", attempt(1, 0, 4)))
    drawn = timeline_svg(replace(view, time=RunTime.of(stretches, 998.0, 1005.0)))
    assert titles(drawn)[-3:] == ["planning: 2.0 s", "S1 model: 4.0 s", "Prefect: 1.0 s"]
    assert "Objective to answer" in drawn
    assert "Objective to answer" not in timeline_svg(view)
