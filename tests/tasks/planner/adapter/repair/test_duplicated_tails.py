"""Work on a joined result is done once."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.adapter.line_format import read_lines
from prefect_swarm.tasks.planner.adapter.repair.pipeline import repair_plan

LANES = """\
1. Reader: Sum up the letter of Ada
2. Reader: Sum up the letter of Bo
3. Writer: Write one article from both letters (needs 1, 2)"""


def _steps(text: str, objective: str = "One article from the letters, cut") -> dict[str, str]:
    plan, _ = repair_plan(read_lines(text, objective))
    return {s.id: f"{s.prompt} < {', '.join(s.depends_on)}" for s in plan.steps[3:]}


def test_a_step_for_each_thing_after_their_join_becomes_one_step() -> None:
    tail = "4. Editor: Cut the article on Ada (needs 3)\n5. Editor: Cut the article on Bo (needs 3)"
    assert _steps(f"{LANES}\n{tail}") == {"S4": "Cut the article on Ada and Bo < S3"}


def test_so_do_those_that_need_one_another() -> None:
    tail = "4. Editor: Cut the article on Ada (needs 3)\n5. Editor: Cut the article on Bo (needs 4)"
    assert _steps(f"{LANES}\n{tail}") == {"S4": "Cut the article on Ada and Bo < S3"}


def test_what_works_on_them_works_on_the_one() -> None:
    text = f"""\
{LANES}
4. Editor: Cut the article on Ada (needs 3)
5. Editor: Cut the article on Bo (needs 3)
6. Writer: Find a title for the article on Ada (needs 4)
7. Writer: Find a title for the article on Bo (needs 5)"""
    plan, notes = repair_plan(read_lines(text, "One article from the letters, cut, with a title"))
    assert [(step.id, step.prompt, step.depends_on) for step in plan.steps[3:]] == [
        ("S4", "Cut the article on Ada and Bo", ("S3",)),
        ("S5", "Find a title for the article on Ada and Bo", ("S4",)),
    ]
    assert plan.final_step == "S5"
    assert notes == (
        "S4, S5 are merged: they do the same to the joined result",
        "S6, S7 are merged: they do the same to the joined result",
    )


@pytest.mark.parametrize(
    "tail",
    [
        "4. Editor: Cut it for radio (needs 3)\n5. Editor: Cut it for print (needs 3)",
        "4. Editor: Cut the article on Ada (needs 1)\n5. Editor: Cut the article on Bo (needs 2)",
        "4. Editor: Cut the article on Ada (needs 3)\n5. Critic: Praise Bo (needs 3)",
        "4. Writer: Thank Ada for all (needs 3)\n5. Judge: Thank Bo for all (needs 1, 3)",
    ],
    ids=["other things", "no join between", "other work", "reads more"],
)
def test_what_is_not_the_same_for_the_things_joined_stays_apart(tail: str) -> None:
    assert len(_steps(f"{LANES}\n{tail}")) == 2


@pytest.mark.parametrize(
    "objective",
    [
        "One article from the letters, then a cut version for each",
        "One article from the letters; cut the article on Ada and the article on Bo",
        "One article from the letters",
    ],
    ids=["of each", "by name", "of nothing"],
)
def test_what_the_objective_wants_of_each_stays_apart(objective: str) -> None:
    tail = "4. Editor: Cut it for Ada (needs 3)\n5. Editor: Cut it for Bo (needs 3)"
    assert len(_steps(f"{LANES}\n{tail}", objective)) == 2
