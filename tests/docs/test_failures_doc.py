"""The page on failures says what the code does: its tables and its policy are compared with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks, rows, sections
from prefect_swarm.errors import Category
from prefect_swarm.plan.task_ir import TIERS, Tier
from prefect_swarm.store.attempt import Action
from prefect_swarm.store.failure_policy import RULES, Policy, load_policy
from prefect_swarm.tasks.failure_router import Bounds, Failure, route
from pydantic import ValidationError

PARTS = sections("failures.md")
POLICY = ROOT / "examples" / "policy.yaml"
ACTIONS = {
    "RETRY",
    "CONTINUE",
    "THINK_HARDER",
    "SAMPLE",
    "ESCALATE",
    "DELEGATE",
    "REPLAN",
    "KEEP",
    "ASK",
    "SKIP",
    "FAIL",
}


def test_the_table_is_the_default_policy() -> None:
    documented = {row[0]: tuple(filter(None, row[1:])) for row in rows(PARTS["The table"])}
    assert documented == dict(RULES)
    assert [*documented] == [*RULES]


def test_every_category_is_explained_once() -> None:
    assert sorted(row[0] for row in rows(PARTS["Categories"])) == sorted(Category)


def test_every_action_is_explained_once() -> None:
    assert {row[0] for row in rows(PARTS["Actions"])} == ACTIONS
    for action in ACTIONS:
        Policy.model_validate({"rules": {"LOGIC": [action]}})
    with pytest.raises(ValidationError):
        Policy.model_validate({"rules": {"LOGIC": ["PRAY"]}})


def way(category: Category, ladder: tuple[Tier, ...]) -> list[Action]:
    """What a step gets that fails for ever in one way, up to its end."""
    policy, history, tier, revision = Policy(), list[Failure](), TIERS[0], 0
    actions: list[Action] = []
    while True:
        history.append(Failure(category, tier, "again", revision=revision))
        bounds = Bounds(ladder=ladder, replans_left=policy.replans - revision)
        decision = route(history, policy, bounds)
        if decision.tier is None:
            return actions
        actions.append(decision.action)
        revision += decision.action == "REPLAN"
        tier = decision.tier


def test_what_the_attempts_come_to_is_so() -> None:
    documented = [row for row in rows(PARTS["Bounds"]) if row[0] in set(Category)]
    assert documented
    for category, *ways in documented:
        for models, documented_way in enumerate(ways, 1):
            assert documented_way == ", ".join(way(Category(category), TIERS[:models])), (
                category,
                models,
            )


def test_the_bounds_are_the_defaults() -> None:
    policy, documented = (
        Policy(),
        {row[0]: row[1] for row in rows(PARTS["Bounds"]) if len(row) == 3},
    )
    assert documented["replacements in a run"] == str(policy.replans)
    assert documented["candidates of a SAMPLE"] == str(policy.samples)
    assert str(Bounds().max_attempts) in documented.values()


def test_the_policy_in_the_page_is_the_example_and_can_be_loaded() -> None:
    text = POLICY.read_text("utf-8")
    assert text in blocks(PARTS["A policy of your own"], "yaml")
    policy = load_policy(POLICY)
    assert policy.rules[Category.CODE] == ("RETRY", "SAMPLE", "ESCALATE", "DELEGATE", "REPLAN")
    assert policy.rules[Category.UNKNOWN] == RULES[Category.UNKNOWN]
    assert set(policy.delegates) == {"python"}
    assert policy.ladders == {"doc": ("worker", "architect")}


def test_every_field_of_a_policy_is_in_the_page(tmp_path: Path) -> None:
    text = "\n".join(PARTS.values())
    missing = [name for name in Policy.model_fields if not re.search(rf"\b{name}\b", text)]
    assert not missing
