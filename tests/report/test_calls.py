"""Calls of tools stand on a run's page, and in `inspect`."""

from __future__ import annotations

from prefect_swarm.report.attempts_page import attempts_sections, call_blocks, calls_sections
from prefect_swarm.report.lines import call_lines
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import Page, Paragraph, Quoted, Table
from prefect_swarm.store.attempt import Attempt, ToolCall
from prefect_swarm.store.step import StepState


def attempt(*calls: ToolCall) -> Attempt:
    return Attempt(number=1, tier="worker", model="m", started_at=0, ended_at=1, calls=calls)


def step(*calls: ToolCall) -> StepState:
    return StepState(id="S1", agent="Clerk", status="succeeded", attempts=(attempt(*calls),))


CALL = ToolCall(
    ordinal=2,
    tool="price",
    toolset="shop",
    arguments='{"of": "tea | milk"}',
    outcome="returned",
    result="3\n4",
    characters=3,
    seconds=1.25,
)


def test_a_call_is_a_row_that_breaks_no_table() -> None:
    (section,) = calls_sections([step(CALL)])
    text = page_markdown(Page("timeline", "Timeline", [], [section]), lambda _: "")
    row = text.splitlines()[-1]
    assert row.replace(r"\|", "").count("|") == 9
    assert "price" in row
    assert "1.2 s" in row
    assert section in attempts_sections([step(CALL)])


def test_a_run_without_calls_has_no_such_part() -> None:
    assert calls_sections([step()]) == []


def test_more_calls_than_a_page_has_room_for_are_counted() -> None:
    (section,) = calls_sections([step(*[CALL] * 230)])
    (block,) = section.blocks
    assert isinstance(block, Table)
    assert (len(block.rows), block.more) == (200, 30)


def test_a_steps_page_has_arguments_and_results_and_counts_the_rest() -> None:
    blocks = call_blocks([CALL] * 41)
    assert Quoted('{"of": "tea | milk"}', "json") in blocks
    assert Quoted("3\n4") in blocks
    assert blocks[-1] == Paragraph(("1 more calls.",))


def test_a_call_is_a_line_in_the_terminal() -> None:
    (line,) = call_lines(attempt(CALL).calls)
    assert line == 'call 2: price({"of": "tea | milk"}) returned in 1.2 s: 3 4'
