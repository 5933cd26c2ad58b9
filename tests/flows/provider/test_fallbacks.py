"""Of several models the next one serves where one can't."""

from __future__ import annotations

import threading

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import Category, ModelError
from provider_runs import closed_port, end_at, hurried, model_at, planned, run_at, serving, works
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_BROKEN = Reply(status=500, error={"message": "The cooling has failed."})


def only_other(asked: Asked) -> Reply:
    """Serve the other model alone."""
    return works(asked) if asked.body["model"] == "other-model" else _BROKEN


def test_the_next_model_serves_where_the_first_is_not_up() -> None:
    with serving(works) as server:
        result = run_at(server, _ONE, model=f"{model_at(closed_port())},{server.name()}")
    (attempt,) = result.steps[0].attempts
    assert (attempt.category, attempt.model) == (None, "strong-model")


def test_the_next_model_serves_where_the_first_is_broken() -> None:
    with serving(only_other) as server:
        result = run_at(server, _ONE, model=f"{server.name()},{server.name('other-model')}")
    (attempt,) = result.steps[0].attempts
    assert (attempt.category, attempt.model) == (None, "other-model")
    assert [asked.body["model"] for asked in server.asked] == ["strong-model"] * 2 + ["other-model"]


def test_the_next_model_serves_where_the_first_refuses_the_key() -> None:
    wrong_key = Reply(status=401, error={"message": "Wrong key."})
    with serving(lambda _: wrong_key) as first, serving(works) as second:
        result = run_at(first, _ONE, model=f"{first.name()},{second.name('other-model')}")
    assert result.steps[0].attempts[0].model == "other-model"


def test_a_key_that_is_refused_is_not_tried_again_although_another_model_serves() -> None:
    wrong_key = Reply(status=401, error={"message": "Wrong key."})
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with serving(lambda _: wrong_key) as first, serving(works) as second:
        result = run_at(first, plan, model=f"{first.name()},{second.name('other-model')}")
    assert result.status == "completed"
    assert (len(first.asked), len(second.asked)) == (1, 2)


def test_a_plan_is_written_by_the_model_that_serves() -> None:
    written = {
        "create_subagent": [{"name": "Reader", "system_prompt": "You read closely."}],
        "assign_task": [{"agent": "Reader", "prompt": "Measure the harbour."}],
    }

    def reply(asked: Asked) -> Reply:
        return Reply(tool_args=written) if asked.is_plan else works(asked)

    with serving(reply) as server:
        names = f"{model_at(closed_port())},{server.name()}"
        result = planned(server, "Find out", model=names)
    assert result.status == "completed"


def test_if_none_is_up_all_are_said_before_any_step() -> None:
    down = [model_at(closed_port(), name) for name in ("first", "second")]
    with serving(works) as server, pytest.raises(ModelError, match="can't be reached for first"):
        run_at(server, _ONE, model=",".join(down))


def test_if_all_fail_the_step_says_what_each_said() -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(status=500, error={"message": f"{asked.body['model']} is broken."})

    with serving(reply) as server, hurried(server):
        result = end_at(server, _ONE, model=f"{server.name()},{server.name('other-model')}")
    (step,) = result.steps
    assert step.category is Category.UNAVAILABLE
    assert "500: strong-model is broken" in step.reason
    assert "Then: " in step.reason
    assert "500: other-model is broken" in step.reason


def test_the_next_model_serves_where_the_first_is_busy_for_longer() -> None:
    busy = Reply(status=429, headers={"retry-after": "3000"}, error={"message": "Busy."})
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with serving(lambda _: busy) as first, serving(works) as second:
        result = run_at(first, plan, model=f"{first.name()},{second.name('other-model')}")
    assert {step.attempts[0].model for step in result.steps} == {"other-model"}
    assert len(first.asked) == 1


def test_a_model_that_is_too_slow_fails_the_attempt() -> None:
    def reply(asked: Asked) -> Reply:
        is_slow = asked.body["model"] == "strong-model"
        return Reply("Late.", hold=threading.Event()) if is_slow else works(asked)

    with serving(reply) as server:
        names = f"{server.name()},{server.name('other-model')}"
        result = end_at(server, _ONE, model=names, step_timeout_s=0.3)
    assert result.steps[0].attempts[0].category is Category.TIMEOUT
