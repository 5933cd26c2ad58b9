"""A run never costs more than it may: what could is not sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from flow_runs import plan_of, steps_of
from prefect_swarm.errors import Category, InputError
from prefect_swarm.store.folder import RunFolder
from provider_runs import end_at, planned, run_at
from provider_server import Asked, ProviderServer, Reply, provider_server

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

# A million tokens of gpt-4o cost $2.50 read and $10 written.
_ANSWER = Reply("It is 9 m deep.", input_tokens=100, output_tokens=200)
_COST = 100 * 2.5e-6 + 200 * 10e-6
_TWO = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


def priced(reply: Callable[[Asked], Reply]) -> AbstractContextManager[ProviderServer]:
    return provider_server(reply, models=("gpt-4o",))


def test_what_a_run_cost_is_what_its_answers_cost() -> None:
    with priced(lambda _: _ANSWER) as server:
        result = run_at(server, _TWO, model=server.name("gpt-4o"))
    assert result.cost.money_usd == pytest.approx(2 * _COST)


def test_a_run_within_its_money_is_run_whole() -> None:
    with priced(lambda _: _ANSWER) as server:
        result = run_at(server, _TWO, model=server.name("gpt-4o"), max_usd=0.02)
    assert result.status == "completed"


def test_a_step_that_could_exceed_the_money_is_not_sent() -> None:
    with priced(lambda _: _ANSWER) as server:
        result = run_at(server, _TWO, model=server.name("gpt-4o"), max_usd=0.004)
    step = steps_of(result)["S2"]
    assert (step.status, step.category) == ("failed", Category.BUDGET)
    assert "$0.0022 spent and up to $0.0027 needed are more than $0.004" in step.reason
    assert len(server.asked) == 1


def test_what_was_done_before_the_money_ended_is_kept() -> None:
    with priced(lambda _: _ANSWER) as server:
        result = run_at(server, _TWO, model=server.name("gpt-4o"), max_usd=0.004)
    assert (result.status, result.answer) == ("partial", "It is 9 m deep.")
    assert RunFolder.find(result.run_id).read("outputs/S1.txt") == "It is 9 m deep."


def test_no_answer_may_be_longer_than_there_is_money_for() -> None:
    with priced(lambda _: _ANSWER) as server:
        run_at(server, _TWO, model=server.name("gpt-4o"), max_usd=0.004)
    most = server.asked[0].body["max_completion_tokens"]
    assert 256 <= most <= 400


def test_steps_at_once_reserve_what_they_may_cost() -> None:
    plan = plan_of(*({"id": f"S{number}"} for number in range(1, 9)), final_step="S8")
    with priced(lambda _: _ANSWER) as server:
        result = end_at(server, plan, model=server.name("gpt-4o"), max_usd=0.01)
    assert result.cost.money_usd is not None
    assert result.cost.money_usd <= 0.01
    ended = [step.category for step in result.steps if step.status != "succeeded"]
    assert ended
    assert set(ended) == {Category.BUDGET}


def test_what_planning_cost_is_spent() -> None:
    task = {"agent": "Reader", "prompt": "Measure the harbour."}
    reader = {"name": "Reader", "system_prompt": "You read closely."}
    written = {"create_subagent": [reader], "assign_task": [task]}
    plan = Reply(tool_args=written, input_tokens=1000, output_tokens=1000)
    with priced(lambda asked: plan if asked.is_plan else _ANSWER) as server:
        result = planned(server, "Measure", model=server.name("gpt-4o"), max_usd=0.05)
    assert result.cost.money_usd == pytest.approx(0.0125 + _COST)


@pytest.mark.parametrize("names", ["strong-model", "gpt-4o,strong-model"])
def test_money_can_not_be_bound_where_no_price_is_known(names: str) -> None:
    with provider_server(lambda _: _ANSWER) as server:
        model = ",".join(server.name(name) for name in names.split(","))
        with pytest.raises(InputError, match=r"no price is known for .*strong-model"):
            run_at(server, _TWO, model=model, max_usd=1.0)
    assert server.asked == []
