"""Keys go to the servers that they are for, and settings to the steps that have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import InputError, ModelError
from provider_runs import planned, run_at, serving, works
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_LIMITS = {"max_tokens", "max_completion_tokens"}


def sent(asked: Asked) -> str:
    """All that a request said beside its path."""
    return f"{dict(asked.headers)} {asked.body}"


def test_the_providers_key_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    with serving(works) as server:
        run_at(server, _ONE)
    assert [asked for asked in server.asked if "mine" in sent(asked)] == []


def test_the_key_that_is_named_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("MY_KEY", "sk-for-this-server")
    with serving(works) as server:
        run_at(server, _ONE, key_env="MY_KEY")
    keys = {asked.headers["authorization"] for asked in server.asked}
    assert keys == {"Bearer sk-for-this-server"}


def test_a_key_is_in_no_file_of_the_run(monkeypatch: pytest.MonkeyPatch, swarm_home: Path) -> None:
    monkeypatch.setenv("MY_KEY", "sk-for-this-server")
    with serving(works) as server:
        run_at(server, _ONE, key_env="MY_KEY")
    files = [path for path in swarm_home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"sk-for-this-server" in path.read_bytes()] == []


def test_a_key_that_is_not_set_is_missed_before_any_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with serving(works) as server, pytest.raises(ModelError, match="MY_KEY, which is not set"):
        run_at(server, _ONE, key_env="MY_KEY")
    assert server.asked == []


def test_a_plan_may_not_say_which_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "sk-secret")
    with serving(works) as server:
        plan = plan_of({"id": "S1", "model": f"{server.name()}#SECRET"})
        with pytest.raises(InputError, match="names an environment variable with a key"):
            run_at(server, plan)
    assert server.asked == []


def test_a_model_that_plans_may_not_name_one() -> None:
    def reply(asked: Asked) -> Reply:
        if not asked.is_plan:
            return works(asked)
        task = {"agent": "Reader", "prompt": "Read.", "model": f"{server.name('x')}#SECRET"}
        reader = {"name": "Reader", "system_prompt": "You read closely."}
        return Reply(tool_args={"create_subagent": [reader], "assign_task": [task]})

    with serving(reply) as server:
        result = planned(server, "Find out")
    assert result.plan.steps[0].model == ""
    assert {asked.body["model"] for asked in server.asked} == {"strong-model"}


def bodies_of_settings() -> tuple[Asked, Asked]:
    """The requests of a step with a model and settings of its own, and of one without."""
    settings = {"temperature": 0.25, "top_p": 0.5, "max_output_tokens": 64, "seed": 7}
    with serving(works) as server:
        own = {"id": "S1", "model": server.name("other-model"), "settings": settings}
        run_at(server, plan_of(own, {"id": "S2", "depends_on": ["S1"]}))
    first, second = server.asked
    return first, second


def test_a_steps_own_model_and_settings_are_sent() -> None:
    own, _ = bodies_of_settings()
    assert own.body["model"] == "other-model"
    assert (own.body["temperature"], own.body["top_p"], own.body["seed"]) == (0.25, 0.5, 7)
    assert [own.body[key] for key in _LIMITS if key in own.body] == [64]


def test_the_settings_of_a_step_are_no_other_steps() -> None:
    _, other = bodies_of_settings()
    assert other.body["model"] == "strong-model"
    assert _LIMITS.union({"temperature", "top_p", "seed"}).isdisjoint(other.body)


def test_settings_of_the_run_are_sent_with_every_step() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"}, final_step="S2")
    with serving(works) as server:
        run_at(server, plan, temperature=0.5, max_output_tokens=300, seed=3)
    assert {asked.body["temperature"] for asked in server.asked} == {0.5}
    limits = [asked.body[key] for asked in server.asked for key in _LIMITS & asked.body.keys()]
    assert limits == [300, 300]
    assert {asked.body["seed"] for asked in server.asked} == {3}
