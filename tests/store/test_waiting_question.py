"""The message of a run that is left waiting."""

from __future__ import annotations

from copy import copy

from prefect_swarm.errors import ExitCode, exit_code_of_status
from prefect_swarm.store.question import Question, RunWaitingError

PLAN = Question(id="plan", asked="plan", title="The plan of 3 steps")
STEP = Question(id="S3", asked="step", step="S3", title="S3, before it begins")


def test_it_says_what_waits_and_every_way_to_go_on() -> None:
    error = RunWaitingError("abc", (PLAN,))
    assert error.problem == "Run abc waits for approval of the plan."
    for command in (
        "waiting abc",
        "approve abc --resume",
        "reject abc --why",
        "edit abc PLAN.yaml",
    ):
        assert f"prefect-swarm {command}" in error.fix
    assert error.exit_code is ExitCode.WAITING is exit_code_of_status("waiting")


def test_of_several_questions_the_first_is_the_example() -> None:
    other = STEP.model_copy(update={"id": "S4"})
    error = RunWaitingError("abc", (STEP, other))
    assert error.problem == "Run abc waits for approval of S3, S4."
    assert "prefect-swarm approve abc S3 --resume" in error.fix
    assert "edit" not in error.fix


def test_what_was_answered_when_the_run_was_just_being_left_needs_nothing_but_a_resume() -> None:
    error = RunWaitingError("abc", ())
    assert error.problem == "Run abc was left waiting, and has been answered meanwhile."
    assert error.fix == "Continue: prefect-swarm resume abc"


def test_a_copy_has_all_of_it() -> None:
    error = copy(RunWaitingError("abc", (PLAN,)))
    assert (error.run_id, error.questions) == ("abc", (PLAN,))
