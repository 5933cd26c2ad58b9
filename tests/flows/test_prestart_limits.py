"""The limits of a run hold for what is asked ahead of its plan."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from provider_runs import planned, serving
from provider_server import Asked, Reply, provider_server
from streamed_plans import LAST_PIECES, OBJECTIVE, PLAN, finding, kinds, steps_asked

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


@dataclass
class Counting:
    """Holds the steps until the plan is written, and the plan until `most` of them are asked."""

    most: int
    enough: threading.Event = field(default_factory=threading.Event)
    written: threading.Event = field(default_factory=threading.Event)
    at_once: int = 0
    most_at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked) -> Reply:
        if asked.is_plan:
            return Reply(tool_args=PLAN, before_piece=self.write)
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.at_once == self.most:
                self.enough.set()
        assert self.written.wait(30)
        with self._lock:
            self.at_once -= 1
        return finding(asked)

    def write(self, number: int) -> None:
        if number == LAST_PIECES:
            assert self.enough.wait(30)
            self.written.set()


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"max_concurrency": 2}, 2),
        ({"max_concurrency": 1}, 1),
        ({"tiers": {"worker": {"concurrency": 2}}}, 2),
    ],
    ids=["run", "alone", "tier"],
)
def test_no_more_steps_are_asked_at_once_than_may_be(options: dict[str, Any], most: int) -> None:
    reply = Counting(most)
    with serving(reply) as server:
        result = planned(server, OBJECTIVE, **options)
    assert result.status == "completed"
    assert reply.most_at_once == most
    assert len(steps_asked(server.asked)) == 4
    happened = kinds(result)
    assert happened.index(("started", "S1")) < happened.index(("planned", ""))


@pytest.mark.parametrize(
    "bound", [{"max_tokens": 1_000_000}, {"max_usd": 5.0}], ids=["tokens", "money"]
)
def test_a_plan_is_not_streamed_where_its_cost_is_bounded(bound: dict[str, Any]) -> None:
    reply = Counting(1)
    reply.written.set()
    # A model whose price is known.
    with provider_server(reply, models=("gpt-4o",)) as server:
        planned(server, OBJECTIVE, model=server.name("gpt-4o"), **bound)
    assert not any(asked.body.get("stream") for asked in server.asked)


def test_what_is_asked_ahead_has_no_more_time_than_the_run() -> None:
    reply = Counting(3)
    with serving(reply) as server:
        result = planned(server, OBJECTIVE, timeout_s=300)
    assert result.status == "completed"
    assert len(steps_asked(server.asked)) == 4
