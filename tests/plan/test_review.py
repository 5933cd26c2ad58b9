"""Reviews and choices among samples in a plan are checked, resolved, and part of its hash."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.flows.plan_changes import read_compiled
from prefect_swarm.plan.compile import CompiledPlan, compile_plan
from prefect_swarm.plan.digests import step_digests
from prefect_swarm.plan.review import CompiledBestOf, CompiledReview, Reviewer
from prefect_swarm.plan.task_ir import parse_plan
from raw_plans import plan, problem, step

AGENTS = [
    {"name": "Ann", "system_prompt": "You are careful."},
    {"name": "Skeptic", "system_prompt": "You doubt.", "tier": "architect"},
    {"name": "Clerk", "system_prompt": "You look it up.", "tools": ["web"]},
]


def compiled(**fields: Any) -> CompiledPlan:
    data = plan(step(1, **fields), agents=AGENTS, constraints=["be brief"])
    return compile_plan(parse_plan(data))


SKEPTIC = Reviewer("Skeptic", "You doubt.\nKeep to this: be brief", "architect")


@pytest.mark.parametrize(
    ("votes", "needed", "expected"), [(1, None, 1), (2, None, 2), (3, None, 2), (3, 3, 3)]
)
def test_a_review_is_resolved_and_takes_a_majority(
    votes: int, needed: int | None, expected: int
) -> None:
    review = {"agent": "Skeptic", "votes": votes, "pass": needed, "instructions": "Look."}
    found = compiled(review=review).steps[0].review
    assert found == CompiledReview(SKEPTIC, votes, expected, "Look.")


def test_a_choice_among_samples_is_resolved() -> None:
    assert compiled(best_of={"samples": 3}).steps[0].best_of == CompiledBestOf(3)
    judged = compiled(best_of={"samples": 2, "judge": "Skeptic"}).steps[0].best_of
    assert judged == CompiledBestOf(2, SKEPTIC)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"review": {"agent": "Nobody"}}, "step S1 names an unknown agent 'Nobody' in review"),
        (
            {"best_of": {"samples": 2, "judge": "Nobody"}},
            "step S1 names an unknown agent 'Nobody' in best_of; there are 'Ann', 'Skeptic'",
        ),
        ({"review": {"agent": "Clerk"}}, "names 'Clerk' in review, who works with tools"),
        ({"best_of": {"samples": 2, "judge": "Clerk"}}, "names 'Clerk' in best_of, who works"),
        (
            {"review": {"agent": "Skeptic", "votes": 2, "pass": 3}},
            "pass is 3, and there are only 2 votes",
        ),
        ({"best_of": {"samples": 1}}, "samples"),
        ({"review": {"agent": "Skeptic", "votes": 10}}, "votes"),
    ],
)
def test_what_cannot_be_asked_is_refused(fields: dict[str, Any], said: str) -> None:
    assert said in problem(plan(step(1, **fields), agents=AGENTS))


FIELDS: list[dict[str, Any]] = [
    {},
    {"review": {"agent": "Skeptic"}},
    {"review": {"agent": "Ann"}},
    {"review": {"agent": "Skeptic", "votes": 3}},
    {"review": {"agent": "Skeptic", "votes": 3, "pass": 1}},
    {"review": {"agent": "Skeptic", "instructions": "Look."}},
    {"best_of": {"samples": 2}},
    {"best_of": {"samples": 3}},
    {"best_of": {"samples": 3, "judge": "Skeptic"}},
]


def test_the_hash_has_all_that_is_asked() -> None:
    assert len({compiled(**fields).content_hash for fields in FIELDS}) == len(FIELDS)


def test_a_finished_step_is_taken_over_as_it_was_reviewed() -> None:
    digests = [step_digests(compiled(**fields))["S1"] for fields in FIELDS]
    assert len(set(digests[:6])) == 6
    assert set(digests[6:]) == {digests[0]}, "how many samples it was made of doesn't count"


@pytest.mark.parametrize("fields", FIELDS)
def test_a_stored_plan_is_complete(fields: dict[str, Any]) -> None:
    made = compiled(**fields)
    assert read_compiled(made.to_json()) == made
