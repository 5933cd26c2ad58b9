"""The steps of an ended run that are run again, and with which options."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import Category, InputError
from prefect_swarm.flows.options import (
    CHANGEABLE,
    SwarmOptions,
    TierOptions,
    changed_options,
    goes_on,
    steps_to_begin_again,
)
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.attempt import Attempt, Decision
from prefect_swarm.store.result import Metrics, Planning, SwarmResult
from prefect_swarm.store.step import StepState

PLAN = parse_plan(
    {
        "objective": "Find out",
        "agents": [{"name": "A", "system_prompt": "You read."}],
        "steps": [{"id": "S1", "agent": "A", "prompt": "do"}],
    }
)


def attempt(category: Category | None, rule: str = "") -> Attempt:
    decision = Decision(action="FAIL", rule=rule, reason="") if rule else None
    return Attempt(
        number=1,
        tier="worker",
        model="m",
        started_at=0.0,
        ended_at=1.0,
        category=category,
        decision=decision,
    )


DONE = StepState(id="S1", agent="A", status="succeeded", attempts=(attempt(None),))
FAILED = StepState(
    id="S2",
    agent="A",
    status="failed",
    category=Category.LOGIC,
    attempts=(attempt(Category.LOGIC, "LOGIC: nothing left"),),
)
SPENT = StepState(
    id="S3",
    agent="A",
    status="failed",
    category=Category.LOGIC,
    attempts=(attempt(Category.LOGIC, "attempts spent"),),
)
REFUSED = StepState(
    id="S4",
    agent="A",
    status="failed",
    category=Category.BUDGET,
    attempts=(attempt(Category.LOGIC),),
)
TOO_SMALL = StepState(
    id="S5",
    agent="A",
    status="failed",
    category=Category.BUDGET,
    attempts=(attempt(Category.BUDGET, "BUDGET: never"),),
)
UNTRIED = StepState(id="S6", agent="A", status="skipped", category=Category.UPSTREAM)


def ended(status: str, *steps: StepState) -> SwarmResult:
    return SwarmResult.model_validate(
        {
            "run_id": "r",
            "flow_run_id": "f",
            "status": status,
            "answer": "",
            "plan": PLAN,
            "content_hash": "h",
            "planning": Planning(source="user"),
            "steps": steps,
            "metrics": Metrics(
                critical_steps=0,
                makespan_s=0,
                critical_path_s=0,
                work_s=0,
                parallelism=0,
                speedup=0,
            ),
            "cost": {},
        }
    )


@pytest.mark.parametrize(
    ("status", "retry_failed", "changes", "again"),
    [
        ("failed", False, {}, {"S2", "S3", "S5"}),
        ("failed", False, {"max_attempts": 2}, {"S2", "S5"}),
        ("partial", True, {}, {"S2", "S3", "S5"}),
        ("partial", True, {"max_attempts": 2}, {"S2", "S5"}),
        ("partial", True, {"max_attempts": 1}, {"S2", "S3", "S5"}),
        ("partial", False, {"max_tokens": 9}, {"S5"}),
        ("partial", False, {"max_attempts": 2}, {"S5"}),
    ],
)
def test_what_begins_again(
    status: str, retry_failed: bool, changes: dict[str, int], again: set[str]
) -> None:
    result = ended(status, DONE, FAILED, SPENT, REFUSED, TOO_SMALL, UNTRIED)
    found = steps_to_begin_again(result, retry_failed=retry_failed, changes=changes)
    assert found == again


@pytest.mark.parametrize(
    ("status", "steps", "retry_failed", "changes", "goes"),
    [
        ("completed", [DONE], True, {"max_tokens": 9}, False),
        ("failed", [FAILED], False, {}, True),
        ("partial", [DONE, FAILED], False, {}, False),
        ("partial", [DONE, FAILED], True, {}, True),
        ("partial", [DONE, REFUSED], False, {"max_tokens": 9}, True),
        ("partial", [DONE, SPENT], False, {"max_attempts": 2}, True),
    ],
)
def test_whether_anything_is_done(
    status: str,
    steps: list[StepState],
    retry_failed: bool,
    changes: dict[str, int],
    goes: bool,
) -> None:
    assert goes_on(ended(status, *steps), retry_failed=retry_failed, changes=changes) == goes


@pytest.mark.parametrize("changes", [{"max_tokens": 9}, {"max_attempts": 1}])
def test_a_change_that_nothing_comes_of_is_an_error(changes: dict[str, int]) -> None:
    with pytest.raises(InputError, match="no step was stopped by what was changed"):
        goes_on(ended("partial", DONE, FAILED, SPENT), retry_failed=False, changes=changes)


def test_what_is_not_changed_stays() -> None:
    stored = SwarmOptions(
        worker="a:b",
        max_tokens=5,
        tiers={"worker": TierOptions(concurrency=2, timeout_s=3.0), "coder": TierOptions()},
    )
    changes = {"max_tokens": 6, "tiers": {"worker": {"timeout_s": 4}}}
    changed = changed_options(stored, changes)
    assert (changed.worker, changed.max_tokens) == ("a:b", 6)
    assert changed.tiers["worker"] == TierOptions(concurrency=2, timeout_s=4.0)
    assert set(changed.tiers) == {"worker", "coder"}


def test_all_that_can_be_changed_are_options() -> None:
    assert set(CHANGEABLE) <= set(SwarmOptions.model_fields)
