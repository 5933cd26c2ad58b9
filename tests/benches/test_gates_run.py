"""How the gates' bench deals out its steps, configures its runs and counts what came of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from flow_runs import run
from prefect_swarm.errors import Category
from prefect_swarm.gates.sandbox import ProgramResult
from scripted import Script, scripted

GATES = Path(__file__).parents[2] / "benches" / "gates"


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(GATES)


def configured(name: str, **given: Any) -> Any:
    return import_module("configurations").configured(name, model="demo", **given)


def outcome(kind: str, accepted: bool, flaw: str = "", **counts: int) -> Any:
    made = import_module("tally").Outcome
    return made(id="x", kind=kind, accepted=accepted, flaw=flaw, **counts)


def report(*outcomes: Any) -> Any:
    tally = import_module("tally")
    measured = tally.Measured(configuration="retry", outcomes=outcomes, tokens=900, seconds=12.3)
    return tally.BenchReport(machine="m", model="demo", measured=(measured,))


def test_the_table_counts_what_was_accepted_and_what_of_it_is_right() -> None:
    rows = import_module("tally").table(
        report(
            outcome("python", True, attempts=2, candidates=3),
            outcome("python", True, "add(1, 2) gave 4, expected 3"),
            outcome("text", False, attempts=3, candidates=4),
            outcome("text", True, attempts=2, candidates=4),
        )
    )
    assert rows.splitlines()[-1] == "| retry | 4 | 3 | 2 | 1 | 50% | 2.00 | 3.00 | 450 | 12 |"


def test_where_nothing_is_right_no_success_has_a_price() -> None:
    rows = import_module("tally").table(report(outcome("text", False)))
    assert rows.splitlines()[-1] == "| retry | 1 | 0 | 0 | 0 | 0% | 1.00 | 1.00 |  | 12 |"


def test_kinds_have_a_row_each() -> None:
    rows = import_module("tally").kinds_table(
        report(outcome("python", True), outcome("python", True, "no"), outcome("json", False))
    )
    assert rows.splitlines()[2:] == [
        "| python | 2 | 1 / 2 |",
        "| shell | 0 | 0 / 0 |",
        "| json | 1 | 0 / 0 |",
        "| text | 0 | 0 / 0 |",
    ]


def test_steps_are_dealt_out_evenly_and_each_once() -> None:
    steps = import_module("steps").load_steps()
    plans = import_module("swarms").plans_of(steps, 12)
    assert [len(plan) for plan in plans] == [12, 12, 11, 11, 11, 11]
    assert {asked.id for plan in plans for asked in plan} == {asked.id for asked in steps}
    assert all(
        {asked.kind for asked in plan} == set(import_module("steps").KINDS) for plan in plans
    )


def test_a_single_attempt_accepts_what_a_gate_would_not() -> None:
    assert set(configured("single").gates.values()) == {()}
    assert configured("single").max_attempts == 1


def test_gates_alone_leave_no_second_attempt() -> None:
    assert (configured("gated").gates, configured("gated").max_attempts) == ({}, 1)


def test_retries_neither_sample_nor_replan() -> None:
    rules = configured("retry").policy.rules
    assert rules[Category.CODE] == ("RETRY", "RETRY", "ESCALATE")
    assert {"SAMPLE", "REPLAN"}.isdisjoint(action for rule in rules.values() for action in rule)


def test_sampling_is_what_every_failure_of_the_model_leads_to() -> None:
    policy = configured("sample").policy
    assert policy.samples == 8
    assert policy.rules[Category.FORMAT] == policy.rules[Category.LOGIC] == ("SAMPLE",)
    assert policy.rules[Category.BUDGET] == ()
    assert policy.rules[Category.INFRASTRUCTURE] == ("RETRY", "RETRY")


def test_a_second_tier_is_climbed_to() -> None:
    assert configured("tier", coder="better").ladder() == ("worker", "coder")
    assert configured("default", coder="better").ladder() == ("worker",)


@pytest.mark.parametrize(
    ("stdout", "exit_code", "files", "right"),
    [
        ("a \nb\n\n", 0, {"x": b"1"}, True),
        ("a\nc\n", 0, {"x": b"1"}, False),
        ("a\nb\n", 2, {"x": b"1"}, False),
        ("a\nb\n", 0, {"x": b"2"}, False),
        ("a\nb\n", 0, {}, False),
    ],
)
def test_a_script_is_right_by_what_it_prints_and_leaves_and_how_it_ends(
    stdout: str, exit_code: int, files: dict[str, bytes], right: bool
) -> None:
    hidden = import_module("hidden")
    asked = hidden.ShellRun(stdout="a\nb", leaves={"x": "1"})
    result = ProgramResult(exit_code, None, stdout, "", None, 0.1, files, "bubblewrap")
    assert (import_module("judge").run_flaw(asked, result) == "") == right


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_plan_of_steps_runs_and_its_last_step_is_the_answer() -> None:
    steps = [step for step in import_module("steps").load_steps() if step.id in ("sum", "capital")]
    plan = import_module("swarms").plan_for(steps)

    def reply(prompt: str) -> str:
        return '{"sum": 42}' if "Add 12" in prompt else "Paris" if "capital" in prompt else "done"

    with scripted(Script(reply)):
        result = run(plan)
    assert result.answer == "done"
    assert [step.status for step in result.steps] == ["succeeded"] * 3
    assert result.cost.calls == 3
