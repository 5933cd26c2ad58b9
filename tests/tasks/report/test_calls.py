"""Calls of tools stand on a run's page, and in `inspect`."""

from __future__ import annotations

from prefect_swarm.result import Attempt, StepResult, ToolCall
from prefect_swarm.tasks.report.attempts import attempts_markdown
from prefect_swarm.tasks.report.calls import call_lines, calls_markdown


def attempt(*calls: ToolCall) -> Attempt:
    return Attempt(number=1, tier="worker", model="m", started_at=0, ended_at=1, calls=calls)


def step(*calls: ToolCall) -> StepResult:
    return StepResult(id="S1", agent="Clerk", status="succeeded", attempts=(attempt(*calls),))


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


def test_a_call_is_a_row_of_the_page_that_breaks_no_table() -> None:
    (part,) = calls_markdown([step(CALL)])
    row = part.splitlines()[-1]
    assert row.replace(r"\|", "").count("|") == 9
    assert "price" in row
    assert "1.2 s" in row
    assert part in attempts_markdown([step(CALL)])


def test_a_run_without_calls_has_no_such_part() -> None:
    assert calls_markdown([step()]) == []


def test_more_calls_than_a_page_has_room_for_are_counted() -> None:
    (part,) = calls_markdown([step(*[CALL] * 230)])
    assert part.endswith("\n\n30 more.")


def test_a_call_is_a_line_in_the_terminal() -> None:
    (line,) = call_lines(attempt(CALL).calls)
    assert line == 'call 2: price({"of": "tea | milk"}) returned in 1.2 s: 3 4'
