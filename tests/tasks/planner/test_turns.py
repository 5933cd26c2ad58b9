"""A turn of the orchestrator's: what it is shown, and what is read of what it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import PlanRules, TaskIR, parse_plan
from prefect_swarm.plan.turns import TurnReply, extend_plan, next_number
from prefect_swarm.tasks.planner.turns import fitting, read_turn
from prefect_swarm.tasks.subagent.request import Exchange, tokens_of

PLAN = parse_plan(
    {
        "objective": "Count cranes",
        "agents": [{"name": "Surveyor", "system_prompt": "You count."}],
        "steps": [
            {
                "id": "S1",
                "agent": "Surveyor",
                "prompt": "Name the harbours.",
                "output": {"kind": "json"},
            },
            {"id": "S4", "agent": "Surveyor", "prompt": "Explain cranes."},
        ],
    }
)


def read(turn: Any, *, may_answer: bool = False) -> TurnReply:
    text = turn if isinstance(turn, str) else json.dumps(turn)
    return read_turn(text, PLAN, may_answer=may_answer)


def extended(reply: TurnReply, *without: str) -> TaskIR:
    return extend_plan(PLAN, reply, PlanRules(), without)


def count(name: str, *needs: Any) -> dict[str, Any]:
    return {"agent": "Surveyor", "prompt": f"Count those of {name}.", "depends_on": list(needs)}


def test_the_numbers_of_assignments_go_on_after_the_last_one() -> None:
    reply = read({"assign_task": [count("Ghent", 1, 4), count("Bruges", 5)]})
    assert [(step.id, step.depends_on) for step in reply.steps] == [
        ("S5", ("S1", "S4")),
        ("S6", ("S5",)),
    ]
    assert [step.id for step in extended(reply).steps] == ["S1", "S4", "S5", "S6"]


@pytest.mark.parametrize("needs", [["S1"], ["1"], "1"])
def test_what_names_a_step_in_another_way_is_understood(needs: Any) -> None:
    (step,) = read({"assign_task": [{**count("Ghent"), "depends_on": needs}]}).steps
    assert step.depends_on == ("S1",)


def test_items_of_a_step_that_is_done_make_instances() -> None:
    task = {**count("{item}", 1), "for_each": {"items": "S1", "at": "/harbours"}}
    (step,) = extended(read({"assign_task": [task]})).steps[2:]
    assert step.for_each is not None
    assert step.for_each.items == "S1"


def test_a_new_agent_may_be_made_and_one_that_is_there_be_used() -> None:
    made = {"name": "Pilot", "system_prompt": "You know harbours."}
    again = {"name": "Surveyor", "system_prompt": "You count."}
    turn = {"create_subagent": [made, again], "assign_task": [count("Ghent")]}
    assert [agent.name for agent in extended(read(turn)).agents] == ["Surveyor", "Pilot"]


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"assign_task": [count("Ghent", 9)]}, "S9"),
        ({"assign_task": [{**count("Ghent"), "agent": "Nobody"}]}, "Nobody"),
        ({"assign_task": [{"agent": "Surveyor", "prompt": "Name the harbours."}]}, "what S1 does"),
        ({"assign_task": [count("Ghent", 4)]}, "S4, which has no output"),
        ({"cancel_task": [{"step": 9}]}, "S9, which isn't in the plan"),
        ({"finish": {"step": 7}}, "S7"),
        ({"finish": {"step": 4}}, "no output to answer with"),
        ({"look_after": [8]}, "S8, which isn't in the plan"),
        (
            {"create_subagent": [{"name": "Surveyor", "system_prompt": "You sing."}]},
            "created twice",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_with_the_reason(turn: Any, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        extended(read(turn), "S4")


def test_a_text_is_the_answer_where_one_may_be_written_and_an_error_elsewhere() -> None:
    assert read("Three cranes.", may_answer=True).answer == "Three cranes."
    assert read('{"cranes": 3}', may_answer=True).answer == '{"cranes": 3}'
    with pytest.raises(PlanError, match="not JSON"):
        read("Three cranes.")


def test_a_turn_that_decides_nothing_lets_the_run_go_on_but_not_where_nothing_goes_on() -> None:
    assert read({}) == TurnReply()
    with pytest.raises(PlanError, match="decides nothing"):
        read({"assign_task": []}, may_answer=True)


def test_what_stands_in_a_fence_or_after_a_thought_is_read() -> None:
    text = '<think>Two are left.</think>\n```json\n{"finish": {"answer": "Three."}}\n```'
    assert read(text).answer == "Three."


_TEXTS = st.text("ab \n", max_size=400)
_EXCHANGES = st.lists(st.builds(Exchange, asked=_TEXTS, answered=_TEXTS), min_size=1, max_size=8)


@given(_EXCHANGES, st.integers(0, 2000))
def test_a_conversation_keeps_its_beginning_and_all_that_the_orchestrator_wrote(
    history: list[Exchange], room: int
) -> None:
    kept, left_out = fitting(history, room)
    assert kept[0] == history[0]
    assert [each.answered for each in kept] == [each.answered for each in history]
    changed = [place for place, each in enumerate(kept) if each != history[place]]
    assert len(changed) <= left_out
    assert kept[1 + left_out :] == tuple(history[1 + left_out :])
    whole = sum(tokens_of(each.asked) + tokens_of(each.answered) for each in history)
    assert (left_out == 0) == (whole <= room or len(history) == 1)


@given(st.sets(st.integers(1, 40), min_size=1))
def test_the_next_number_is_free(numbers: set[int]) -> None:
    steps = [PLAN.steps[0].model_copy(update={"id": f"S{number}"}) for number in numbers]
    assert next_number(steps) == max(numbers) + 1
