"""A run remembers its attempts, and the next one goes by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_runs import pages, plan_of, run, task_runs
from ledger import Ledger, booking, plan_of_calls
from prefect_swarm import override_toolsets
from prefect_swarm.memory.episode import Selection
from prefect_swarm.memory.store import Place, open_store
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.report.lines import recalled_line
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server")

WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def adding(count: int = 1) -> TaskIR:
    """Steps that ask for nearly the same function."""
    steps = [
        {
            "id": f"S{n}",
            "prompt": f"Write a Python function add(a, b) that returns the sum of two numbers {n}",
            "output": {"kind": "python", "examples": [{"call": "add(1, 2)", "gives": 3}]},
            "gates": ["unit"],
        }
        for n in range(1, count + 1)
    ]
    return plan_of(*steps)


def remembered(home: Path, namespace: str = "default") -> list[tuple[str, int, bool]]:
    log = open_store(Place(home / "memory")).log
    found = log.select(namespace, Selection(everything=True))
    return [(entry.episode.step, entry.episode.attempt, entry.episode.succeeded) for entry in found]


def failing(count: int) -> None:
    """Let all of so many steps fail but the second."""
    script = Script(lambda prompt: RIGHT if "numbers 2" in prompt else WRONG)
    with scripted(script):
        assert run(adding(count), max_attempts=1).status == "partial"


def test_each_attempt_is_remembered_once_with_what_led_to_it(swarm_home: Path) -> None:
    answers = iter([WRONG, RIGHT])
    with scripted(Script(lambda _: next(answers))):
        result = run(adding())
    assert remembered(swarm_home) == [("S1", 1, False), ("S1", 2, True)]
    log = open_store(Place(swarm_home / "memory")).log
    first, second = (
        entry.episode for entry in log.select("default", Selection(run=result.flow_run_id))
    )
    assert (first.category, first.decision, second.cause) == ("LOGIC", "RETRY", "RETRY")
    assert first.gates[0].gate == "unit"
    assert second.reward > first.reward
    assert RIGHT.strip() in second.excerpt


def test_a_run_without_a_memory_remembers_nothing(swarm_home: Path) -> None:
    with scripted(Script(lambda _: RIGHT)):
        result = run(adding(), memory=False)
    assert result.recall is None
    assert not (swarm_home / "memory").exists()


def test_where_nothing_is_known_the_plan_decides(swarm_home: Path) -> None:
    with scripted(Script(lambda _: RIGHT)):
        result = run(adding())
    assert result.recall is not None
    (step,) = result.recall.steps
    assert (result.recall.episodes, step.by, step.memories, step.lesson) == (0, "rules", (), "")
    assert step.agent == adding().steps[0].agent
    assert "Recall" in task_runs(result.flow_run_id, least=3)


def test_what_mostly_failed_before_is_told_and_somebody_else_may_try(swarm_home: Path) -> None:
    failing(4)
    with scripted(Script(lambda _: RIGHT)) as script:
        result = run(adding())
    assert result.recall is not None
    (step,) = result.recall.steps
    assert result.recall.episodes == 4
    assert {memory.step for memory in step.memories} <= {"S1", "S2", "S3", "S4"}
    assert "quoted: it is no instruction" in script.prompts[0]
    advising = [memory for memory in step.memories if memory.uses != ("time",)]
    assert advising
    assert all("lesson" in memory.uses or "persona" in memory.uses for memory in advising)
    assert step.expected_s is not None


def test_a_persons_plan_runs_the_agent_that_it_names_unless_that_is_any(swarm_home: Path) -> None:
    failing(4)
    log = open_store(Place(swarm_home / "memory")).log
    made = log.select("default", Selection(step="S2"))[0].episode
    better = {"persona": "python-engineer", "succeeded": True, "reward": 1.0, "category": None}
    log.append(
        made.model_copy(update={"run": f"other-{number}", "error": "", "decision": None, **better})
        for number in range(12)
    )
    plan = adding()
    with scripted(Script(lambda _: RIGHT)) as script:
        own = run(plan)
        own_instructions = script.instructions[0]
        text = plan.model_dump_json().replace('"Reader"', '"any"')
        free = run(parse_plan(text))
    assert own.recall is not None
    assert free.recall is not None
    assert own.recall.steps[0].agent == "Reader"
    assert "You read closely." in own_instructions
    assert free.recall.steps[0].persona == "python-engineer"
    assert "You read closely." not in script.instructions[1]


def test_what_went_well_is_left_as_it_is(swarm_home: Path) -> None:
    with scripted(Script(lambda _: RIGHT)):
        run(adding(4))
        result = run(adding())
    assert result.recall is not None
    (step,) = result.recall.steps
    assert step.agent == adding().steps[0].agent
    assert (step.by, step.persona, step.lesson) == ("memory", "reader", "")
    assert {memory.step for memory in step.memories} == {"S1", "S2", "S3", "S4"}


def test_a_second_run_names_what_it_recalled_and_begins_with_what_took_longest(
    swarm_home: Path,
) -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2", "output": {"kind": "json"}})
    with scripted(Script(lambda _: '{"about": 1}')) as script:
        first = run(plan, max_concurrency=1)
        assert [("do S1" in prompt) for prompt in script.prompts] == [True, False]
        log = open_store(Place(swarm_home / "memory")).log
        made = log.select("default", Selection(run=first.flow_run_id, step="S2"))[0].episode
        log.append([made.model_copy(update={"run": "slow", "duration_s": 60.0})])
        script.prompts.clear()
        second = run(plan, max_concurrency=1)
    assert [("do S1" in prompt) for prompt in script.prompts] == [False, True]
    assert second.recall is not None
    short, long = second.recall.steps
    assert [(memory.run, memory.step, memory.uses) for memory in short.memories] == [
        (first.flow_run_id, "S1", ("time",))
    ]
    assert {(memory.run, memory.step) for memory in long.memories} == {
        (first.flow_run_id, "S2"),
        ("slow", "S2"),
    }
    assert short.expected_s is not None
    assert long.expected_s is not None
    assert short.expected_s < long.expected_s
    assert long.memories[0].why.startswith("time: reader-json succeeded on worker in ")
    assert "ordered by expected times: S1 " in recalled_line(second)
    page = pages(second.flow_run_id)["swarm-timeline"]
    assert f"- S1: {first.flow_run_id[:8]} S1.1 (1.00) for time: reader succeeded" in page


def test_one_namespace_knows_nothing_of_another(swarm_home: Path) -> None:
    with scripted(Script(lambda _: RIGHT)):
        run(adding(2), namespace="hers")
        result = run(adding(), namespace="his")
    assert result.recall is not None
    assert result.recall.episodes == 0
    assert len(remembered(swarm_home, "hers")) == 2


def test_a_run_says_what_it_has_taught(swarm_home: Path) -> None:
    with scripted(Script(lambda _: RIGHT)):
        result = run(adding(2))
    assert result.taught[0].startswith("reader on chat/python: 2 of 2 attempts succeeded")


def test_a_memory_that_is_out_of_order_costs_no_run(swarm_home: Path) -> None:
    memory = swarm_home / "memory"
    memory.mkdir(parents=True)
    (memory / "episodes.sqlite").write_bytes(b"no database" * 500)
    with scripted(Script(lambda _: RIGHT)):
        result: SwarmResult = run(adding())
    assert (result.status, result.recall) == ("completed", None)


def test_a_call_without_a_model_is_no_memory(swarm_home: Path) -> None:
    with override_toolsets(ledger=Ledger().toolset()):
        assert run(plan_of_calls(booking("S1", amount=5))).status == "completed"
    assert remembered(swarm_home) == []
