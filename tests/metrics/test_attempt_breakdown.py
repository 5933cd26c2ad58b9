"""An attempt says what it took time for."""

from __future__ import annotations

from typing import Any

from prefect_swarm.gates import GateResult
from prefect_swarm.metrics.time_breakdown import Turn, turns_of
from prefect_swarm.store.attempt import Attempt, ToolCall
from prefect_swarm.store.step import StepState
from run_times import stretch


def turn_of(**changes: Any) -> Turn:
    given: dict[str, Any] = {"number": 1, "tier": "worker", "model": "m"}
    given |= {"started_at": 12.0, "ended_at": 18.0, **changes}
    attempt = Attempt(**given)
    step = StepState(id="S1", agent="Reader", status="succeeded", attempts=(attempt,))
    return turns_of([step])["S1"][0]


def words(turn: Turn) -> list[tuple[str, float, float]]:
    return [(each.kind, each.started_at, each.ended_at) for each in turn.stretches]


def test_its_model_its_waits_its_tools_and_its_gates_have_their_time() -> None:
    turn = turn_of(
        stretches=(stretch("provider", 13, 15),),
        calls=(ToolCall(ordinal=1, tool="look", started_at=16, seconds=1, outcome="returned"),),
        gates=(GateResult(gate="length", status="passed", started_at=19, duration_s=2),),
    )
    assert words(turn) == [
        ("model", 12, 18),
        ("provider", 13, 15),
        ("tool", 16, 17),
        ("gate", 19, 21),
    ]
    assert {(each.step, each.attempt) for each in turn.stretches} == {("S1", 1)}


def test_it_is_over_when_the_last_of_it_is() -> None:
    gate = GateResult(gate="length", status="passed", started_at=19, duration_s=2)
    assert turn_of(gates=(gate,), stretches=(stretch("memory", 21, 22),)).over_at == 22


def test_what_an_earlier_time_found_or_an_earlier_process_made_took_no_time() -> None:
    turn = turn_of(
        calls=(ToolCall(ordinal=1, tool="look", started_at=3, seconds=9, outcome="stored"),),
        gates=(GateResult(gate="a", status="passed", started_at=19, duration_s=2, cached=True),),
    )
    assert words(turn) == [("model", 12, 18)]


def test_a_result_of_an_earlier_version_has_the_models_time_alone() -> None:
    turn = turn_of(gates=(GateResult(gate="a", status="passed", duration_s=2),))
    assert (turn.ready_at, turn.launched_at, turn.over_at) == (12, 12, 18)


def test_what_was_asked_ahead_had_begun_before_it_was_launched() -> None:
    turn = turn_of(ready_at=14, launched_at=15)
    assert (turn.ready_at, turn.launched_at) == (12, 15)
