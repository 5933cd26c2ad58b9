"""The planner of model files without an adapter, and the grammar it writes under."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import NoPlanError
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.conversation import PlanContext, PlanDraft
from prefect_swarm.tasks.planner.grammar import plan_grammar, turn_grammar, up_to
from prefect_swarm.tasks.planner.planned import WrittenPlan
from prefect_swarm.tasks.planner.planners import GrammarPlanner
from prefect_swarm.tasks.planner.task import planner_for
from pydantic_ai.models.wrapper import WrapperModel
from scripted_local import ScriptedModel

OBJECTIVE = "Say what the harbour needs"
LONG = "Walk the harbour from the north mole to the fish market. " * 12


def _plan(*needs: list[int]) -> dict[str, Any]:
    return {
        "create_subagent": [{"name": "Pilot", "system_prompt": "You know harbours."}],
        "assign_task": [
            {"agent": "Pilot", "prompt": f"{LONG}Part {number}.", "depends_on": need}
            for number, need in enumerate(needs, 1)
        ],
    }


def _draft(model: ScriptedModel, most: int = 301) -> PlanDraft:
    planner = planner_for(WrapperModel(model))
    assert isinstance(planner, GrammarPlanner)
    return asyncio.run(planner.plan(OBJECTIVE, PlanContext(PlanRules(max_steps=most))))


def test_a_valid_plan_is_taken_as_it_is_in_one_request() -> None:
    model = ScriptedModel(json.dumps(_plan([], [], [], [], [1, 2, 3, 4])))
    draft = _draft(model)
    assert [step.prompt for step in draft.plan.steps] == [f"{LONG}Part {n}." for n in range(1, 6)]
    assert draft.plan.steps[4].depends_on == ("S1", "S2", "S3", "S4")
    assert (draft.usage.requests, draft.origin) == (1, "as the model wrote it")


def test_it_is_told_what_a_provider_s_model_is_told() -> None:
    model = ScriptedModel(json.dumps(_plan([])))
    _draft(model)
    assert "create_subagent: every specialist" in model.prompts[0]
    assert OBJECTIVE in model.prompts[0]
    assert model.settings_of_requests[0]["max_tokens"] == 2048


def test_an_unknown_agent_is_reported_and_fixed_once() -> None:
    broken = _plan([])
    broken["assign_task"][0]["agent"] = "Captain"
    model = ScriptedModel(json.dumps(broken), json.dumps(_plan([])))
    draft = _draft(model)
    assert "unknown agent 'Captain'" in model.prompts[1]
    assert draft.usage.requests == 2


def test_a_plan_without_an_end_is_shown_in_part_and_asked_for_with_another_seed() -> None:
    model = ScriptedModel("round " * 2000, json.dumps(_plan([])), finish_reason="error")
    _draft(model)
    assert 300 < model.prompts[1].count("round ") < 400
    first, second = (asked["seed"] for asked in model.settings_of_requests)
    assert first != second


def test_a_second_broken_plan_is_an_error() -> None:
    broken = json.dumps(_plan([]))[:-20]
    with pytest.raises(NoPlanError) as caught:
        _draft(ScriptedModel(broken, broken))
    assert caught.value.text == broken


@given(st.integers(1, 2000), st.integers(0, 3000))
def test_the_numbers_up_to_a_largest_are_those_and_no_others(largest: int, number: int) -> None:
    assert _admits(up_to(largest), str(number)) == (1 <= number <= largest)


def _admits(rule: str, text: str) -> bool:
    """Read alternatives of digits and classes of digits, as GBNF has them."""
    return any(_fits(alternative.split(), text) for alternative in rule.split(" | "))


def _fits(parts: list[str], text: str) -> bool:
    for part in parts:
        if part.startswith('"'):
            literal = part.strip('"')
            if not text.startswith(literal):
                return False
            text = text[len(literal) :]
        else:
            low, high = part[1], part[3]
            if not text or not low <= text[0] <= high:
                return False
            text = text[1:]
    return not text


@pytest.fixture(scope="module")
def reader() -> GrammarReader:
    return GrammarReader()


def _with(**fields: Any) -> str:
    plan = _plan([], [1])
    plan["assign_task"][1] |= fields
    return json.dumps(plan, ensure_ascii=False)


RULES = PlanRules(max_steps=12, gates=frozenset({"unit", "length"}))


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        _with(),
        json.dumps(_plan([], [1], [2, 1]), indent=2),
        json.dumps(_plan([], [1]), separators=(",", ":")),
        json.dumps(_plan(*[[] for _ in range(11)], [11, 10, 1])),
        _with(prompt='Zähle “alle”\nin Kyōto: \\d+ and say "why"'),
        _with(output={"kind": "json", "json_schema": "{}"}, gates=None),
        _with(output={"kind": "text", "sections": ["Risks"], "max_words": 90, "form": "list"}),
        _with(output={"kind": "python", "examples": [{"call": "f(1)", "gives": "2"}]}),
        _with(output={"kind": "text"}, gates=["unit", "length"]),
    ],
)
def test_llama_takes_plans_as_models_write_them(reader: GrammarReader, text: str) -> None:
    assert reader.accepts(plan_grammar(RULES), text)
    WrittenPlan.model_validate_json(text).plan(OBJECTIVE, RULES)


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        "I can't.",
        _with(depends_on=[2]),
        _with(depends_on=[0]),
        json.dumps(_plan([1])),
        json.dumps(_plan(*[[] for _ in range(13)])),
        json.dumps(_plan(*[[] for _ in range(11)], [12])),
        _with(prompt=""),
        _with(prompt="  "),
        _with(gates=["beauty"]),
        _with(output={"kind": "video"}),
        json.dumps(_plan([]) | {"create_subagent": []}),
        _with() + " And that is all.",
    ],
)
def test_llama_refuses_what_breaks_a_rule(reader: GrammarReader, text: str) -> None:
    assert not reader.accepts(plan_grammar(RULES), text)


FOUND = '{"type": "object", "properties": {"papers": {"type": "array"}, "kind": {}}}'
FIRST = {"output": {"kind": "json", "json_schema": FOUND}}
BOTH = {"agent": "", "prompt": "", "depends_on": [1]}


def _program(first: dict[str, Any], second: dict[str, Any]) -> str:
    plan = _plan([], [1])
    plan["assign_task"] = [
        {**task, **words} for task, words in zip(plan["assign_task"], (first, second), strict=True)
    ]
    return json.dumps(plan, ensure_ascii=False)


INNER = [
    {"agent": "Pilot", "prompt": "Sound it.", "depends_on": [], "output": {"kind": "text"}},
    {"agent": "Pilot", "prompt": "Chart it.", "depends_on": [1]},
]


@pytest.mark.model
@pytest.mark.parametrize(
    "words",
    [
        {"for_each": {"items": "S1", "at": "/papers"}},
        {"for_each": {"items": "S1", "at": "/papers", "where": {"at": "/year", "over": 2000.5},
                      "key": "/url", "max_items": 30, "too_many": "first", "at_least": 0.9}},
        {"for_each": {"items": ["Kiel", "Hull"]}},
        {"when": {"step": "S1", "at": "/kind", "is": "bug"}},
        {"when": {"all": [{"step": "S1", "at": "/kind", "is_not": None},
                          {"not": {"step": "S1", "at": "/kind", "in": ["bug", 3, True]}}]}},
        {"when": {"step": "S1", "at": "/papers", "empty": False, "exists": True}},
        {"repeat": {"until": {"at": "", "matches": "done"}, "max_rounds": 3, "at_end": "partial"}},
        {**FIRST, "repeat": {"until": "no_new_items", "at": "/papers", "key": ""}},
        {**BOTH, "for_each": {"items": "S1", "at": "/papers"},
         "plan": {"assign_task": INNER, "final_step": 2}},
        {**BOTH, "collect": "list"},
        {"review": {"agent": "Pilot", "votes": 3, "pass": 2, "instructions": "Refute it."},
         "best_of": {"samples": 3, "judge": "gates"}},
    ],
)  # fmt: skip
def test_llama_takes_what_depends_on_what_is_found(
    reader: GrammarReader, words: dict[str, Any]
) -> None:
    text = _program(FIRST, words)
    assert reader.accepts(plan_grammar(RULES, program=True), text)
    assert not reader.accepts(plan_grammar(RULES), text) or words.keys() <= {"output"}
    WrittenPlan.model_validate_json(text).plan(OBJECTIVE, RULES)


@pytest.mark.model
@pytest.mark.parametrize(
    "words",
    [
        {"for_each": "S1"},
        {"for_each": {"at": "/papers"}},
        {"for_each": {"items": []}},
        {"when": "S1.kind == 'bug'"},
        {"when": {"step": "S1", "at": "/kind"}},
        {"repeat": {"max_rounds": 3}},
        {"collect": "zip"},
        {"best_of": {"samples": 1}},
        {**BOTH, "plan": {"assign_task": []}},
    ],
)
def test_llama_refuses_words_in_another_form(reader: GrammarReader, words: dict[str, Any]) -> None:
    assert not reader.accepts(plan_grammar(RULES, program=True), _program(FIRST, words))


@pytest.mark.model
def test_llama_takes_a_plain_plan_where_the_words_are_offered(reader: GrammarReader) -> None:
    assert reader.accepts(plan_grammar(RULES, program=True), _with())


TURN_RULES = PlanRules(gates=frozenset({"ruff"}), inputs=frozenset(), toolsets=frozenset())
TURN = {
    "create_subagent": [{"name": "Pilot", "system_prompt": "You know harbours."}],
    "assign_task": [{"agent": "Pilot", "prompt": "Count the cranes.", "depends_on": [1, 12]}],
    "cancel_task": [{"step": 4, "why": "It is known."}],
    "look_after": [13],
}


@pytest.mark.parametrize(
    ("written", "may_answer", "is_accepted"),
    [
        (json.dumps(TURN), False, True),
        (json.dumps(TURN), True, True),
        (json.dumps({"finish": {"answer": "Three."}}), False, True),
        (json.dumps({"finish": {"step": 3}}), False, True),
        ("Three.\n\nNo more.", True, True),
        ("Three.", False, False),
        ("{}", False, False),
        (json.dumps({"answer": "Three."}), True, False),
    ],
)
def test_a_turn_is_written_under_a_grammar_of_its_own(
    written: str, may_answer: bool, is_accepted: bool
) -> None:
    for program in (False, True):
        rules = turn_grammar(TURN_RULES, program=program, may_answer=may_answer)
        assert GrammarReader().accepts(rules, written) == is_accepted
