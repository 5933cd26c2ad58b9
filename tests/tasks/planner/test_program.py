"""The words of plans that depend on what is found: when planners are shown them, and their size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.plan.conditions import Condition
from prefect_swarm.plan.program import BestOf, ForEach, Repeat, Review
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.conversation import instructions
from prefect_swarm.tasks.planner.facts import notes_of
from prefect_swarm.tasks.planner.grammar import plan_grammar, plan_shape
from prefect_swarm.tasks.planner.planned import PlannedTask, plan_schema
from prefect_swarm.tasks.planner.program import PROGRAM_WORDS, may_depend
from prefect_swarm.text import tokens_of
from pydantic import BaseModel

RULES = PlanRules(max_steps=12)
MOST_TOKENS = 900


def as_sent(schema: dict[str, Any]) -> str:
    """A schema as clients write it into a request."""
    return json.dumps(schema, separators=(",", ":"))


@pytest.mark.parametrize(
    "objective",
    [
        "Find this month's papers on sparse attention and compare them.",
        "Summarize each chapter.",
        "Translate all strings.",
        "Improve the text until it reads well.",
        "If the build fails, say why.",
        "Write a poem on tea, coffee and cocoa; rank the three.",
        "Erkläre Photosynthese.",
        "写一首关于大海的诗",
        "Write a long story about a sailor who " + "sails and " * 30,
        "Describe 12 birds.",
    ],
)
def test_the_words_are_shown_where_an_objective_may_use_them(objective: str) -> None:
    assert may_depend(objective)


@pytest.mark.parametrize(
    "objective",
    [
        "Write a poem about the sea.",
        "Explain photosynthesis to me.",
        "What is the capital of Peru?",
    ],
)
def test_they_are_left_out_where_an_objective_is_one_thing(objective: str) -> None:
    assert not may_depend(objective)


def test_inputs_and_toolsets_that_may_have_lists_are_a_reason_to_show_them() -> None:
    objective = "Write a poem about the sea."
    assert not may_depend(objective, notes_of({"a.txt": "The sea."}), {"python"})
    assert may_depend(objective, notes_of({"a.txt": "The sea.", "b.txt": "The shore."}))
    assert may_depend(objective, notes_of({"a.csv": "name\nsea\n"}))
    assert may_depend(objective, notes_of({"a.json": "[1]"}))
    assert may_depend(objective, (), {"python", "web"})


def test_schema_and_instructions_grow_by_900_tokens_at_most() -> None:
    with_words = as_sent(plan_schema(inputs=True, program=True))
    without = as_sent(plan_schema(inputs=True))
    shown = instructions(RULES, program=True).removeprefix(instructions(RULES))
    assert tokens_of(with_words) - tokens_of(without) + tokens_of(shown) <= MOST_TOKENS
    form = plan_shape(RULES, program=True).removeprefix(plan_shape(RULES))
    assert tokens_of(shown) + tokens_of(form) <= MOST_TOKENS


def test_without_them_nothing_speaks_of_them() -> None:
    text = as_sent(plan_schema(inputs=True)) + instructions(RULES) + plan_shape(RULES)
    assert "for_each" not in text + plan_grammar(RULES)


def test_no_part_of_the_schema_leads_back_to_itself() -> None:
    schema = plan_schema(inputs=True, toolsets=("web",), program=True)

    def referred(part: object) -> set[str]:
        if isinstance(part, dict):
            own = {str(part["$ref"]).removeprefix("#/$defs/")} if "$ref" in part else set[str]()
            return own.union(*map(referred, part.values()))
        return set[str]().union(*map(referred, part)) if isinstance(part, list) else set()

    leads = {name: referred(part) for name, part in schema["$defs"].items()}
    assert set[str]().union(*leads.values()) <= leads.keys()
    for _ in leads:
        leads = {
            name: found.union(*(leads[each] for each in found)) for name, found in leads.items()
        }
    assert [name for name, found in leads.items() if name in found] == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("Test",), Condition),
        (("Items",), ForEach),
        (("PlannedTask", "repeat"), Repeat),
        (("PlannedTask", "review"), Review),
        (("PlannedTask", "best_of"), BestOf),
        (("Inner",), PlannedTask),
    ],
)
def test_the_schema_names_fields_of_the_plan_language(
    path: tuple[str, ...], kind: type[BaseModel]
) -> None:
    definition = plan_schema(inputs=True, program=True)["$defs"][path[0]]
    for name in path[1:]:
        definition = definition["properties"][name]
    known = {field.alias or name for name, field in kind.model_fields.items()}
    assert definition["properties"].keys() <= known


def test_the_schema_has_each_word() -> None:
    schema = plan_schema(inputs=True, program=True)
    assert {*PROGRAM_WORDS} <= schema["$defs"]["PlannedTask"]["properties"].keys()
    assert schema["$defs"]["PlannedTask"]["required"] == ["agent", "prompt"]


def test_a_planner_can_name_no_work_pool() -> None:
    assert '"pool"' not in as_sent(plan_schema(inputs=True, program=True))
    asked = {"agent": "A", "prompt": "{item}", "for_each": {"items": ["a", "b"]}, "pool": "gpu"}
    assert "pool" not in PlannedTask.model_validate(asked).data(1, ["A"])
