"""The choice of the question that a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.cli.approval_prompt import chosen_question
from prefect_swarm.errors import InputError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    return Approvals(RunFolder(tmp_path / "abc"))


def ask(approvals: Approvals, name: str, step: str = "") -> None:
    kind = "step" if step else "plan"
    approvals.ask(Question(id=name, asked=kind, step=step, title=name))


def test_a_step_names_its_only_question_and_an_id_names_itself(approvals: Approvals) -> None:
    ask(approvals, "S3.1.2", "S3")
    ask(approvals, "S4", "S4")
    assert chosen_question(approvals, "s3").id == "S3.1.2"
    assert chosen_question(approvals, "s3.1.2").id == "S3.1.2"


def test_of_several_one_has_to_be_named(approvals: Approvals) -> None:
    ask(approvals, "S3.1.1", "S3")
    ask(approvals, "S3.1.2", "S3")
    for name in ("S3", None):
        with pytest.raises(InputError, match=r"several answers: S3\.1\.1, S3\.1\.2"):
            chosen_question(approvals, name)


def test_without_a_name_the_plan_comes_first(approvals: Approvals) -> None:
    ask(approvals, "S1", "S1")
    ask(approvals, "plan")
    assert chosen_question(approvals, None).id == "plan"


def test_what_is_answered_is_found_so_that_whoever_answers_hears_of_it(
    approvals: Approvals,
) -> None:
    ask(approvals, "plan")
    approvals.answer(Answer(question="plan", verdict="approved"))
    assert chosen_question(approvals, None).id == "plan"
    assert chosen_question(approvals, "plan").id == "plan"


@pytest.mark.parametrize(("name", "words"), [(None, "asks nothing"), ("S9", "nothing about 'S9'")])
def test_where_nothing_is_asked_it_says_so(
    approvals: Approvals, name: str | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        chosen_question(approvals, name)
