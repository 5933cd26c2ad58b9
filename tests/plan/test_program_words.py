"""What a plan says of how often a step is done, in words."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.program_words import program_words
from prefect_swarm.plan.task_ir import TaskIR

JSON = {"kind": "json", "schema": {"type": "object"}}


def words_of(**fields: Any) -> tuple[str, ...]:
    work = {} if "plan" in fields or "collect" in fields else {"agent": "Ann", "prompt": "Do it"}
    steps = [
        {"id": "S1", "agent": "Ann", "prompt": "Find", "output": JSON},
        {"id": "S2", "depends_on": ["S1"], **work, **fields},
    ]
    agents = [{"name": name, "system_prompt": "You work."} for name in ("Ann", "Bob")]
    plan = TaskIR.model_validate({"objective": "Find out", "agents": agents, "steps": steps})
    return program_words(compile_plan(plan).steps[1])


def test_a_step_that_is_done_once_has_none() -> None:
    assert words_of() == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"when": {"step": "S1", "at": "/kind", "is": "bug"}}, "if S1 /kind is bug"),
        (
            {"for_each": {"items": "S1", "at": "/papers", "max_items": 50, "at_least": 0.9}},
            "for each of S1 /papers, at most 50; 90% have to succeed",
        ),
        (
            {"for_each": {"items": [{"url": 1}, {"url": 2}], "key": "/url", "too_many": "ask"}},
            'for each of 2 items: [{"url": 1}, {"url": 2}], once for each /url, a person decides '
            "about more",
        ),
        (
            {"repeat": {"until": {"at": "/n", "over": 3}, "max_rounds": 4, "at_end": "partial"}},
            "again until /n is over 3, at most 4 rounds, then what there is counts",
        ),
        (
            {"repeat": {"until": "no_new_items", "at": "/found"}},
            "again until a round finds nothing new, at most 5 rounds",
        ),
        ({"collect": "table"}, "joined without a model: table"),
        ({"best_of": {"samples": 3}}, "best of 3 samples, the gates choose"),
        ({"best_of": {"samples": 3, "judge": "Bob"}}, "best of 3 samples, Bob chooses"),
        (
            {"review": {"agent": "Bob", "votes": 3, "pass": 2}},
            "reviewed by Bob: 2 of 3 votes have to accept",
        ),
    ],
)
def test_each_word_of_the_plan_has_its_own(fields: dict[str, Any], words: str) -> None:
    given = {**fields, "output": JSON} if "repeat" in fields else fields
    assert words_of(**given) == (words,)


def test_they_stand_in_the_order_in_which_a_run_looks_at_them() -> None:
    inner = {"steps": [{"id": f"S{n}", "agent": "Ann", "prompt": f"Do {n}"} for n in (1, 2)]}
    found = words_of(
        plan={**inner, "final_step": "S2"},
        for_each={"items": "S1", "at": "/papers"},
        when={"step": "S1", "at": "/papers", "empty": False},
    )
    assert found == (
        "if S1 /papers isn't empty",
        "for each of S1 /papers, at most 100",
        "a plan of 2 steps inside: S1, S2; S2 has its output",
    )


def test_a_long_list_is_cut() -> None:
    (words,) = words_of(for_each={"items": [f"item {n}" for n in range(90)], "max_items": 90})
    assert words.startswith("for each of 90 items: [")
    assert len(words) < 150
