"""Plans for the wide search are executed by frozen readers, and are worth their table."""

from __future__ import annotations

from random import Random

import pytest
from parl_runs.frozen import FrozenReader, SearchRuns, merged_rows
from parl_runs.prompts import STYLES, Style, draw_questions, plan_in_lines
from prefect_swarm.parl.rollout import UNREAD, Rollout
from prefect_swarm.tasks.planner.line_format import read_lines
from wide_search.corpus import Corpus
from wide_search.flaws import ORACLE
from wide_search.world import make_world

WORLD = make_world(7)
QUESTIONS = draw_questions(WORLD, 7, 6)
READER = FrozenReader(Corpus(WORLD.pages), ORACLE)


def lines(style: Style, number: int) -> str:
    return plan_in_lines(QUESTIONS[number].text, style, Random(1))  # noqa: S311


def ran(style: Style, number: int = 0) -> Rollout:
    return SearchRuns(QUESTIONS[number], READER)(lines(style, number))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_a_plan_of_any_style_is_a_plan_and_fills_the_table(style: Style, number: int) -> None:
    assert read_lines(lines(style, number), QUESTIONS[number].text).steps
    # The reader may miss a cell.
    assert ran(style, number).r_perf > 0.7


def test_there_are_both_kinds_of_questions() -> None:
    assert {"table of all" in question.text for question in QUESTIONS} == {True, False}
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_parts_side_by_side_have_no_more_critical_steps_than_one_after_another(
    number: int,
) -> None:
    serial, parallel = ran("serial", number), ran("parallel", number)
    assert parallel.critical_steps <= serial.critical_steps
    assert parallel.r_parallel >= serial.r_parallel == 0


def test_steps_that_nothing_is_made_of_are_not_completed() -> None:
    assert ran("parallel").r_finish == 1
    idle = ran("idle")
    assert idle.r_finish < 1
    # They run beside the others, which r_parallel alone would reward.
    assert idle.r_parallel > ran("parallel").r_parallel


def test_a_rollout_comes_to_the_same_each_time() -> None:
    again = FrozenReader(Corpus(WORLD.pages), ORACLE)
    assert SearchRuns(QUESTIONS[1], again)(lines("parallel", 1)) == ran("parallel", 1)


def test_what_is_no_plan_is_not_run() -> None:
    assert SearchRuns(QUESTIONS[0], READER)("I can't.") is UNREAD


def test_a_plan_that_names_other_works_is_worth_nothing() -> None:
    text = "1. Reader: Find all mills in Nowhere.\n2. Reader: Count them (needs 1)"
    found = SearchRuns(QUESTIONS[0], READER)(text)
    assert (found.r_perf, found.r_finish) == (0, 0)


def test_a_column_that_nobody_knows_is_not_filled() -> None:
    text = QUESTIONS[0].text.partition("Columns:")[0]
    for columns in ("name; name.", "name; colour of the town.", "name; founded in."):
        plan = f"1. Reader: {text}Columns: {columns}\n2. Reader: Do nothing"
        assert SearchRuns(QUESTIONS[0], READER)(plan).r_perf == 0


def test_rows_of_several_outputs_are_one_table() -> None:
    outputs = ('[{"name": "A", "x": "1"}]', '{"name": "A", "y": "2"}', '["B"]', "no table")
    assert merged_rows(outputs) == [{"name": "A", "x": "1", "y": "2"}, {"name": "B"}]
