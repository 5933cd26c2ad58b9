"""`inspect` tells a run from its files alone."""

from __future__ import annotations

import json

import pytest
from prefect_swarm.errors import Category
from prefect_swarm.gates import Diagnostic, GateResult
from prefect_swarm.metrics.parl import CollapseFinding, ParlFigures, TurnSteps
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import load_plan
from prefect_swarm.store.attempt import Attempt, Decision, Usage
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import Cost, Metrics, Planning, SwarmResult
from prefect_swarm.store.step import StepState

from .conftest import EXAMPLES, Invoke

FLOW_RUN = "0123abcd-0000-0000-0000-000000000000"
PLAN = load_plan(EXAMPLES / "report.json")
REFUSED = Attempt(
    number=1,
    tier="worker",
    model="small",
    started_at=100.0,
    ended_at=103.0,
    queue_s=1.0,
    usage=Usage(requests=1, input_tokens=10, output_tokens=5),
    category=Category.SCHEMA,
    error="gate schema: seats is not an integer",
    samples=4,
    tokens_saved=90,
    extraction="first json block",
    gates=(
        GateResult(
            gate="schema",
            status="failed",
            diagnostics=(Diagnostic(message="seats is not an integer", line=2),),
        ),
    ),
    decision=Decision(
        action="RETRY", rule="schema", reason="once more", tier="worker", outcome="Clerk: Count"
    ),
)
DONE = REFUSED.model_copy(
    update={"number": 2, "started_at": 103.0, "ended_at": 105.0, "category": None}
    | {"error": None, "gates": (), "decision": None, "samples": 1, "tokens_saved": 0}
)
RESULT = SwarmResult(
    run_id="0123abcd0000",
    flow_run_id=FLOW_RUN,
    status="partial",
    answer="Welcome to \x1b]0;evil\x07the café.",
    plan=PLAN,
    content_hash="c" * 64,
    planning=Planning(source="user"),
    steps=(
        StepState(
            id="S1", agent="Clerk", status="succeeded", attempts=(REFUSED, DONE), critical=True
        ),
        StepState(id="S2", agent="Writer", status="failed", reason="TIMEOUT: too slow"),
        StepState(id="S3", agent="Writer", status="succeeded", attempts=(DONE,), slack_s=1.5),
    ),
    metrics=Metrics(
        critical_steps=3,
        makespan_s=5.0,
        critical_path_s=4.0,
        work_s=6.0,
        parallelism=1.5,
        speedup=1.2,
    ),
    cost=Cost(calls=3, tokens=45),
    problem="S2: TIMEOUT: too slow",
)


@pytest.fixture
def stored(swarm_home: object) -> RunFolder:
    """A run that was started and has two finished steps."""
    RunFolder.of.cache_clear()
    run = RunFolder.of(FLOW_RUN)
    run.write("run.json", {"flow_run_id": FLOW_RUN, "objective": PLAN.objective})
    run.write("plan.json", compile_plan(PLAN).to_json())
    run.write("outputs/S1.txt", '{"name": "Blue", "seats": 4}')
    run.write("outputs/S3.txt", "Welcome.")
    return run


@pytest.fixture
def ended(stored: RunFolder) -> RunFolder:
    stored.write("result.json", RESULT)
    return stored


@pytest.mark.parametrize(
    "line",
    [
        "Describe a small café as data",
        "failed     S2    Writer                        TIMEOUT: too slow",
        "Run 0123abcd0000 is partial.",
        "makespan 5.0 s · critical path 4.0 s · work 6.0 s · parallelism 1.50 · speedup 1.20 · "
        "critical steps 3 · 3 calls, 45 tokens",
        "Look closer: prefect-swarm inspect 0123abcd0000 [--step S2]",
        r"Welcome to \u001b]0;evil\u0007the café.",
    ],
)
def test_an_ended_run_is_told_whole(line: str, ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", "0123abcd0000")
    assert result.exit_code == 0
    assert line in result.stdout.splitlines()


def test_the_timeline_has_every_attempt(ended: RunFolder, invoke: Invoke) -> None:
    lines = [line for line in invoke("inspect", "0123abcd0000").stdout.splitlines() if "|" in line]
    assert [line.split("|")[0].rstrip() for line in lines] == [
        "* S1 Clerk",
        "* S1 Clerk #2",
        "  S3 Writer #2",
    ]
    assert lines[-1].endswith("3.0 to 5.0 s, slack 1.5 s")


def test_as_json_it_is_the_stored_result(ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", FLOW_RUN, "--json")
    assert SwarmResult.model_validate_json(result.stdout) == RESULT


def test_a_result_of_an_earlier_version_is_read(stored: RunFolder, invoke: Invoke) -> None:
    stored.write("result.json", RESULT.model_dump(mode="json", exclude={"parl"}))
    result = invoke("inspect", "0123abcd0000")
    assert result.exit_code == 0
    assert "critical steps 3 · 3 calls" in result.stdout


def test_steps_that_seem_idle_are_named(stored: RunFolder, invoke: Invoke) -> None:
    parl = ParlFigures(
        turns=(TurnSteps(number=1, orchestrator=1, groups=(2, 1)),),
        critical_steps=4,
        r_parallel=0,
        r_finish=0.5,
        r_perf=0.3,
        summed_reward=0.35,
        mixed_reward=0,
        findings=(CollapseFinding(kind="waited", step="S3", other="S1"),),
    )
    stored.write("result.json", RESULT.model_copy(update={"parl": parl}))
    lines = invoke("inspect", "0123abcd0000").stdout.splitlines()
    assert "S3 waited for S1 and seems to read nothing of it." in lines
    assert any("critical steps 3 (4 by turn) · 3 calls" in line for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        "S1 Clerk: succeeded",
        "small on tier worker: 2.0 s, after 1.0 s of waiting; 10 tokens read, 5 written",
        "best of 4 samples",
        "stopped early: 90 tokens saved",
        "it took a question (0 tokens, 0.0 s): Clerk: Count",
        "artifact: first json block",
        "failed   schema  0.00 s  line 2: seats is not an integer",
        "failed: SCHEMA: gate schema: seats is not an integer",
        "decision: RETRY on worker by schema: once more",
        '{"name": "Blue", "seats": 4}',
    ],
)
def test_a_step_has_its_output_attempts_gates_and_decisions(
    line: str, ended: RunFolder, invoke: Invoke
) -> None:
    assert line in invoke("inspect", "0123abcd0000", "--step", "s1").stdout.splitlines()


def test_a_step_as_json_has_its_whole_output(ended: RunFolder, invoke: Invoke) -> None:
    step = json.loads(invoke("inspect", "0123abcd0000", "--step", "S1", "--json").stdout)
    assert step["output"] == '{"name": "Blue", "seats": 4}'
    assert [attempt["number"] for attempt in step["attempts"]] == [1, 2]


def test_files_that_a_step_left_are_named_and_not_shown(ended: RunFolder, invoke: Invoke) -> None:
    last = RESULT.steps[0].attempts[-1].number
    attempt = f"{RESULT.steps[0].id}.{last}"
    ended.write_artifacts(RESULT.steps[0].id, attempt, {"in/plot.png": b"\x89PNG" * 300})
    place = ended.folder / "artifacts" / "S1" / str(last) / "in" / "plot.png"
    for command in (("inspect", ended.run_id), ("inspect", ended.run_id, "--step", "S1")):
        shown = invoke(*command).stdout
        assert "S1 in/plot.png (1.2 KiB): " in shown
        assert "PNG" not in shown
    step = json.loads(invoke("inspect", ended.run_id, "--step", "S1", "--json").stdout)
    assert step["files"] == {"in/plot.png": str(place)}


def test_a_step_that_is_not_there_is_named(ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", "0123abcd0000", "--step", "S9")
    assert result.exit_code == 2
    assert "has no step 'S9'" in result.stderr
    assert "S1 to S3" in result.stderr


def test_an_unfinished_run_says_what_is_done_and_how_to_go_on(
    stored: RunFolder, invoke: Invoke
) -> None:
    result = invoke("inspect", "0123abcd0000")
    assert result.exit_code == 0
    assert "2 of 3 steps finished." in result.stdout
    assert "prefect-swarm resume 0123abcd0000" in result.stdout


def test_an_unfinished_run_as_json_lists_what_is_done(stored: RunFolder, invoke: Invoke) -> None:
    shown = json.loads(invoke("inspect", "0123abcd0000", "--json").stdout)
    assert (shown["status"], shown["finished_steps"]) == ("unfinished", ["S1", "S3"])


def test_a_run_without_a_plan_says_so(stored: RunFolder, invoke: Invoke) -> None:
    (stored.folder / "plan.json").unlink()
    assert "It had no plan yet." in invoke("inspect", "0123abcd0000").stdout


@pytest.mark.parametrize("name", ["0123abcd0000ef", FLOW_RUN[:-1]])
def test_a_name_that_only_begins_like_a_runs_is_no_name_of_it(
    name: str, stored: RunFolder, invoke: Invoke
) -> None:
    result = invoke("inspect", name)
    assert result.exit_code == 2
    assert f"not '{name}'" in result.stderr


def test_a_damaged_run_is_named(ended: RunFolder, invoke: Invoke) -> None:
    ended.write("result.json", "{")
    result = invoke("inspect", "0123abcd0000")
    assert result.exit_code == 2
    assert "damaged" in result.stderr
