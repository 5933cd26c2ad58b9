"""A run that a bound stopped is finished with a higher one, and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from flow_runs import plan_of, run
from prefect.exceptions import CancelledRun
from prefect_swarm.cli.app import app
from prefect_swarm.errors import BudgetExceededError, InputError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from prefect_swarm.store.runs import stored_runs
from scripted import Script, scripted
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

CHAIN = plan_of(
    {"id": "S1"},
    {"id": "S2", "depends_on": ["S1"]},
    {"id": "S3", "depends_on": ["S2"]},
)
PLENTY = 10_000


def answers(prompt: str) -> str:
    return f"about {prompt[-5:]}: " + " ".join(f"word{n}" for n in range(60))


def asked(script: Script) -> Counter[str]:
    return Counter(prompt[-5:] for prompt in script.prompts)


def stopped(max_tokens: int = 400) -> tuple[SwarmResult, Counter[str]]:
    """A run whose tokens suffice for some of its steps, and what was asked."""
    with scripted(Script(answers)) as script:
        return run(CHAIN, max_tokens=max_tokens, max_output_tokens=200), asked(script)


def statuses(result: SwarmResult) -> list[str]:
    return [step.status for step in result.steps]


def test_retrying_what_failed_never_loses_a_finished_step() -> None:
    result, before = stopped()
    assert statuses(result) == ["succeeded", "failed", "skipped"]
    for _ in range(3):
        with scripted(Script(answers)) as script:
            again = asyncio.run(resume(result.run_id, retry_failed=True))
        assert statuses(again) == ["succeeded", "failed", "skipped"]
        assert not script.prompts
        assert again.cost == result.cost
    assert before == {"do S1": 1}


def test_a_higher_bound_finishes_the_run() -> None:
    result, _ = stopped()
    assert f"prefect-swarm resume {result.run_id} --max-tokens N" in result.problem
    with scripted(Script(answers)) as script:
        again = asyncio.run(resume(result.run_id, changes={"max_tokens": PLENTY}))
    assert again.status == "completed"
    assert asked(script) == {"do S2": 1, "do S3": 1}
    assert again.cost.calls == 3


def test_a_plan_that_reads_more_than_the_bound_is_refused_before_any_of_it_is_asked() -> None:
    papers = {f"{n}.txt": "word " * 600 for n in range(10)}
    plan = plan_of(
        {"id": "S1"}, {"id": "S2", "for_each": {"items": "*.txt"}, "depends_on": ["S1"]}
    ).model_copy(update={"inputs": papers})
    with scripted(Script(answers)) as script:
        with pytest.raises(BudgetExceededError, match="plan would read 20,") as no:
            run(plan, max_tokens=5_000, max_output_tokens=200)
        assert not script.prompts
        (run_id,) = (each.run_id for each in stored_runs())
        assert f"prefect-swarm resume {run_id} --max-tokens N" in str(no.value)
        with pytest.raises(BudgetExceededError):
            asyncio.run(resume(run_id))
        again = asyncio.run(resume(run_id, changes={"max_tokens": 100_000}))
    assert again.status == "completed"
    assert len(script.prompts) == 11


def test_members_with_a_plan_inside_that_are_finished_are_not_counted_again() -> None:
    long = "word " * 600
    inner = {"steps": [{"id": "S1", "agent": "Reader", "prompt": f"{{item}} {long}"}]}
    each = {"id": "S1", "agent": "", "prompt": "", "plan": inner}
    plan = plan_of({**each, "for_each": {"items": [f"item {n}" for n in range(4)]}})
    with scripted(Script(lambda prompt: "" if "item 3" in prompt else "done")):
        result = run(plan, max_attempts=1)
    bound = result.cost.tokens + 2_500
    with scripted(Script(answers)) as script:
        changes = {"max_tokens": bound, "max_output_tokens": 200}
        again = asyncio.run(resume(result.run_id, retry_failed=True, changes=changes))
    assert again.status == "completed"
    assert len(script.prompts) == 1


def test_the_bound_is_the_runs_and_what_was_spent_counts() -> None:
    result, _ = stopped()
    spent = result.cost.tokens
    for more in (1, 50):
        with scripted(Script(answers)) as script:
            changes = {"max_tokens": spent + 200 + more}
            again = asyncio.run(resume(result.run_id, changes=changes))
        assert f"{spent} spent" in again.problem
        assert not script.prompts


def test_a_changed_bound_is_kept_for_the_next_time() -> None:
    result, _ = stopped()
    with scripted(Script(answers)):
        asyncio.run(resume(result.run_id, changes={"max_tokens": 401}))
        again = asyncio.run(resume(result.run_id, retry_failed=True))
    assert "more than 401" in again.problem


def test_what_earlier_failures_took_is_booked() -> None:
    replies = iter(["", "found"])
    with scripted(Script(lambda _: next(replies))), pytest.raises(RunFailedError) as failed:
        run(plan_of({"id": "S1"}), max_attempts=1)
    assert failed.value.result is not None
    with scripted(Script(lambda _: next(replies))):
        again = asyncio.run(resume(failed.value.result.run_id))
    assert again.status == "completed"
    assert again.cost.calls == 2


def test_more_attempts_go_on_after_the_last() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"})
    with scripted(Script(lambda prompt: "" if "do S1" in prompt else "fine")):
        result = run(plan, max_attempts=1)
    assert result.status == "partial"
    with scripted(Script(lambda _: "found")) as script:
        again = asyncio.run(resume(result.run_id, changes={"max_attempts": 3}))
    assert again.status == "completed"
    assert len(script.prompts) == 2, "the second attempt, and the answer"
    assert [attempt.number for attempt in again.steps[0].attempts] == [1, 2]


def test_another_model_asks_no_finished_step_again() -> None:
    result, _ = stopped()
    changes = {"max_tokens": PLENTY, "model": "test", "temperature": 0.9, "max_output_tokens": 300}
    with scripted(Script(answers)) as script:
        again = asyncio.run(resume(result.run_id, changes=changes))
    assert again.status == "completed"
    assert asked(script) == {"do S2": 1, "do S3": 1}


def test_the_bounds_of_tiers_are_changed_the_bound_alone() -> None:
    result, _ = stopped()
    for tokens in (100, 90):
        changes = {"tiers": {"worker": {"max_output_tokens": tokens}}}
        with scripted(Script(answers)):
            again = asyncio.run(resume(result.run_id, changes=changes))
    assert again.steps[1].status == "succeeded", "less is reserved"


def test_the_command_takes_them_and_says_what_is_wrong_with_one() -> None:
    result, _ = stopped()
    given = ["--max-tokens", str(PLENTY), "--tier", "worker.max_output_tokens=150"]
    given += ["--max-usd", "2", "--timeout-s", "600", "--max-attempts", "4", "--model", "test"]
    wrong = CliRunner().invoke(app, ["resume", result.run_id, *given[:2], "--temperature", "-1"])
    assert wrong.exit_code == 2
    assert "temperature got -1" in wrong.stderr
    with scripted(Script(answers)):
        ended = CliRunner().invoke(app, ["resume", result.run_id, *given, "--json"])
    refused = json.loads(ended.stdout)
    assert "max_usd can't be enforced" in refused["problem"], "the model has no price"
    with scripted(Script(answers)) as script:
        again = asyncio.run(resume(result.run_id, changes={"max_tokens": PLENTY}))
    assert (again.status, asked(script)) == ("completed", {"do S2": 1, "do S3": 1})


def test_a_change_that_changes_nothing_is_refused() -> None:
    replies = {"do S1": ""}
    with scripted(Script(lambda prompt: replies.get(prompt, "fine"))):
        result = run(plan_of({"id": "S1"}, {"id": "S2"}), max_attempts=1)
    with pytest.raises(InputError, match="Add --retry-failed"):
        asyncio.run(resume(result.run_id, changes={"max_tokens": PLENTY}))
    assert RunFolder.find(result.run_id).result() == result


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 7}, "seed can't be changed in a run that has begun"),
        ({"max_tokens": -1}, "max_tokens got -1"),
        ({"tiers": {"worker": {"concurrency": 0}}}, "tiers.worker.concurrency got 0"),
    ],
)
def test_a_change_that_is_not_possible_loses_nothing(
    changes: dict[str, object], message: str
) -> None:
    result, _ = stopped()
    with pytest.raises(InputError, match=message):
        asyncio.run(resume(result.run_id, changes=changes))
    assert RunFolder.find(result.run_id).result() == result


def test_a_step_that_another_process_finished_is_taken_from_its_files() -> None:
    run_id = _cancelled_at("S3")
    with scripted(Script(answers)) as script:
        result = asyncio.run(resume(run_id))
    assert asked(script) == {"do S3": 1}
    assert [len(step.attempts) for step in result.steps] == [1, 1, 1]
    assert all(step.task_runs for step in result.steps)


def test_the_time_of_all_processes_counts() -> None:
    run_id = _cancelled_at("S3")
    line = {"key": "k", "is_settled": True, "elapsed_s": 500.0}
    RunFolder.find(run_id).append("accounts.jsonl", line)
    with scripted(Script(answers)):
        result = asyncio.run(resume(run_id, changes={"timeout_s": 400}))
    assert statuses(result) == ["succeeded", "succeeded", "failed"]
    assert "of 400 s" in result.problem


def _cancelled_at(step: str) -> str:
    names: list[str] = []
    control = RunControl(lambda event: handle(event))

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            names.append(event.run)
        if (event.kind, event.step) == ("started", step):
            script.release.clear()
            control.cancel.set()

    script = Script(answers, together=2)
    script.release.set()
    with scripted(script), controlled(control), pytest.raises(CancelledRun):
        run(CHAIN)
    return names[0]
