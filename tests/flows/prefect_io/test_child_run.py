from __future__ import annotations

import pytest
from prefect.client.schemas.objects import StateType
from prefect_swarm.errors import InputError
from prefect_swarm.flows.prefect_io.child_run import MOST_REPORTS, choose_deployment, is_lost

PENDING, RUNNING, CRASHED = StateType.PENDING, StateType.RUNNING, StateType.CRASHED


def test_the_only_deployment_of_a_pool_is_taken_or_the_one_of_the_flows_name() -> None:
    assert choose_deployment("gpu", ["any"]) == 0
    assert choose_deployment("gpu", ["first", "swarm"]) == 1
    with pytest.raises(InputError, match="'gpu' has 2 deployments of the flow swarm: a, b"):
        choose_deployment("gpu", ["b", "a"])
    with pytest.raises(InputError, match="--name gpu --pool gpu"):
        choose_deployment("gpu", [])


@pytest.mark.parametrize(
    ("states", "lost"),
    [
        ([RUNNING, CRASHED], False),
        ([PENDING, CRASHED], False),
        ([RUNNING, CRASHED, PENDING, CRASHED], False),
        ([RUNNING, CRASHED, PENDING, CRASHED, RUNNING], False),
        ([RUNNING, CRASHED, PENDING, RUNNING, CRASHED], True),
        ([RUNNING, CRASHED, PENDING, CRASHED, RUNNING, CRASHED], True),
        ([PENDING, CRASHED] * MOST_REPORTS, True),
    ],
)
def test_a_crash_that_is_reported_twice_is_one_loss(states: list[StateType], lost: bool) -> None:
    assert is_lost(states) is lost
