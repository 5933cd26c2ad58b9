"""Compiling a plan: everything is resolved, nothing is run, and the hash says what will run."""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.gates import DEFAULT_GATES
from prefect_swarm.plan.compile import CompiledPlan, StepDefaults, compile_plan
from prefect_swarm.plan.task_ir import OutputKind, parse_plan

ROOT = Path(__file__).parents[2]
PURE = ["plan/compile.py", "plan/schedule.py", "plan/schedule.py", "tasks/failure_router.py"]
IMPURE = ["asyncio", "httpx", "io", "os", "pathlib", "prefect", "random", "subprocess", "time"]

HASH = "563aca5afc6a87c85d6daf3a417cdb9b2908483c91fc1822ba1143ba1f8dbd4b"


def plan() -> dict[str, Any]:
    """A diamond: two look, one of them into JSON, and a third one decides."""
    schema = {"type": "object", "required": ["cost"], "properties": {"cost": {"type": "number"}}}
    return {
        "objective": "Choose a power source for an island",
        "inputs": {"island": "Eigg"},
        "constraints": ["No diesel"],
        "agents": [
            {"name": "Physicist", "system_prompt": "You know physics."},
            {"name": "Judge", "system_prompt": "You decide.", "tier": "architect"},
        ],
        "steps": [
            {"id": "S1", "agent": "Physicist", "prompt": "List the sources"},
            {
                "id": "S2",
                "agent": "Physicist",
                "prompt": "Cost them",
                "depends_on": ["S1"],
                "output": {"kind": "json", "schema": schema},
            },
            {
                "id": "S3",
                "agent": "Physicist",
                "prompt": "Find their risks",
                "depends_on": ["S1"],
                "timeout_s": 60,
                "optional": True,
            },
            {"id": "S4", "agent": "Judge", "prompt": "Choose", "depends_on": ["S2", "S3"]},
        ],
        "final_step": "S4",
    }


def changed(**at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan with other fields, of a step or of the `plan`."""
    data = plan()
    for name, fields in at.items():
        target = data if name == "plan" else data["steps"][int(name[1:]) - 1]
        target.update(fields)
    return data


def compiled(data: dict[str, Any] | None = None, **durations: float) -> CompiledPlan:
    return compile_plan(parse_plan(data or plan()), durations=durations)


# --- what a step gets ---------------------------------------------------------------------------


def test_a_step_gets_its_agents_persona_and_tier() -> None:
    first, last = compiled().step("S1"), compiled().step("S4")
    assert (first.instructions, first.tier) == (
        "You know physics.\nKeep to this: No diesel",
        "worker",
    )
    assert (last.instructions, last.tier) == ("You decide.\nKeep to this: No diesel", "architect")


def test_a_step_gets_the_gates_of_its_output_kind_where_it_names_none() -> None:
    assert compiled().step("S1").gates == ("repetition",)
    assert compiled().step("S2").gates == DEFAULT_GATES["json"]


def test_an_empty_list_of_gates_means_no_gate() -> None:
    assert compiled(changed(S2={"gates": []})).step("S2").gates == ()


def test_the_plan_goes_before_the_defaults() -> None:
    escalation = {"max_attempts": 7, "max_tier": "coder"}
    data = changed(plan={"escalation": escalation}, S1={"gates": ["lint"]})
    step = compiled(data).step("S1")
    assert (step.max_attempts, step.max_tier, step.gates) == (7, "coder", ("lint",))
    assert compiled(data).step("S3").timeout_s == 60


def test_the_defaults_hold_where_the_plan_says_nothing() -> None:
    gates: dict[OutputKind, tuple[str, ...]] = {"text": ("spelling",)}
    defaults = StepDefaults(max_attempts=2, gates=gates)
    step = compile_plan(parse_plan(plan()), defaults).step("S1")
    assert (step.timeout_s, step.max_attempts, step.gates) == (None, 2, ("spelling",))


def test_the_edges_are_kept() -> None:
    assert [step.upstream for step in compiled().steps] == [(), ("S1",), ("S1",), ("S2", "S3")]


def test_a_step_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="S9"):
        compiled().step("S9")


def test_a_compiled_plan_is_written_as_json() -> None:
    written = compiled().to_json()
    assert written["content_hash"] == compiled().content_hash
    assert written["steps"][1]["output"]["schema"]["required"] == ["cost"]


# --- the hash -----------------------------------------------------------------------------------


def test_the_hash_of_a_plan_is_always_this_one() -> None:
    assert compiled().content_hash == HASH


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_the_hash_is_the_same_in_every_process(seed: str) -> None:
    code = (
        "from prefect_swarm.plan.compile import compile_plan\n"
        "from prefect_swarm.plan.task_ir import parse_plan\n"
        f"print(compile_plan(parse_plan({plan()!r})).content_hash)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, env=environment, text=True).strip() == HASH


CHANGES = {
    "prompt": changed(S1={"prompt": "List all the sources"}),
    "gates": changed(S1={"gates": ["lint"]}),
    "timeout": changed(S3={"timeout_s": 61}),
    "edge": changed(S4={"depends_on": ["S2"]}),
    "order of edges": changed(S4={"depends_on": ["S3", "S2"]}),
    "output": changed(S2={"output": {"kind": "json"}}),
    "optional": changed(S3={"optional": False}),
    "objective": changed(plan={"objective": "Choose"}),
    "inputs": changed(plan={"inputs": {"island": "Muck"}}),
    "what a step reads": changed(S1={"inputs": ["island"]}),
    "that a step reads nothing": changed(S1={"inputs": []}),
    "constraints": changed(plan={"constraints": []}),
    "final step": changed(plan={"final_step": None}),
}


@pytest.mark.parametrize("data", CHANGES.values(), ids=CHANGES)
def test_the_hash_changes_with_what_would_run(data: dict[str, Any]) -> None:
    assert compiled(data).content_hash != HASH


def test_the_hash_changes_with_the_defaults_that_apply() -> None:
    assert compile_plan(parse_plan(plan()), StepDefaults(max_attempts=2)).content_hash == HASH


def test_the_hash_does_not_change_with_the_durations() -> None:
    slow = compiled(S1=100.0)
    assert slow.steps != compiled().steps
    assert slow.content_hash == HASH


# --- inputs -------------------------------------------------------------------------------------


def names_read(step: str, **steps: Any) -> list[str]:
    made = compiled(changed(plan={"inputs": {"map": "North is up.", "island": "Eigg"}}, **steps))
    return [name for name, _ in made.inputs_of(made.step(step))]


def test_a_step_without_upstream_reads_all_inputs_and_others_none() -> None:
    assert names_read("S1") == ["map", "island"]
    assert names_read("S2") == []


def test_a_step_that_names_inputs_reads_those_alone() -> None:
    assert names_read("S1", S1={"inputs": ["island"]}) == ["island"]
    assert names_read("S1", S1={"inputs": []}) == []
    assert names_read("S2", S2={"inputs": ["island", "map"]}) == ["island", "map"]


def test_an_input_that_is_not_in_the_plan_is_named() -> None:
    with pytest.raises(PlanError, match="step S1 reads an unknown input 'chart'; there are island"):
        compiled(changed(S1={"inputs": ["chart"]}))


# --- priorities ---------------------------------------------------------------------------------


def priorities(plan: CompiledPlan) -> list[float]:
    return [step.priority for step in plan.steps]


def test_every_step_counts_as_one_where_no_durations_are_known() -> None:
    assert priorities(compiled()) == [3, 2, 2, 1]


def test_known_durations_make_the_long_path_go_first() -> None:
    assert priorities(compiled(S1=1, S2=2, S3=30, S4=4)) == [35, 6, 34, 4]


def test_an_unknown_duration_counts_as_the_mean_of_the_known_ones() -> None:
    assert priorities(compiled(S2=2, S3=4)) == [10, 5, 7, 3]


@st.composite
def edges(draw: st.DrawFn) -> list[list[int]]:
    """For each step, the steps before it that it needs."""
    count = draw(st.integers(1, 9))
    earlier = [st.lists(st.integers(0, n - 1), unique=True) for n in range(1, count)]
    return [[], *(draw(needs) for needs in earlier)]


def longest_from(step: int, needs: Sequence[Sequence[int]], durations: Sequence[int]) -> int:
    """Try every path there is."""
    below = [other for other, needed in enumerate(needs) if step in needed]
    return durations[step] + max(
        (longest_from(later, needs, durations) for later in below), default=0
    )


@given(edges(), st.data())
def test_a_priority_is_the_length_of_the_longest_path_to_the_end(
    needs: list[list[int]], data: st.DataObject
) -> None:
    times = st.lists(st.integers(1, 50), min_size=len(needs), max_size=len(needs))
    durations = data.draw(times)
    steps = [
        {
            "id": f"S{n}",
            "agent": "Ann",
            "prompt": str(n),
            "depends_on": [f"S{need}" for need in needed],
        }
        for n, needed in enumerate([[need + 1 for need in needed] for needed in needs], 1)
    ]
    agents = [{"name": "Ann", "system_prompt": "You."}]
    ir = {"objective": "Any", "agents": agents, "steps": steps}
    known = {f"S{n}": float(duration) for n, duration in enumerate(durations, 1)}
    expected = [longest_from(n, needs, durations) for n in range(len(needs))]
    assert priorities(compiled(ir, **known)) == expected


def pipeline(**inputs: str) -> dict[str, Any]:
    """A list for each input, and a step for each of what is in it."""
    lists = {"id": "S1", "agent": "Ann", "prompt": "List", "output": {"kind": "json"}}
    return {
        "objective": "Compare",
        "inputs": inputs,
        "agents": [{"name": "Ann", "system_prompt": "You read."}],
        "steps": [
            {**lists, "for_each": {"items": "*", "max_items": 200}},
            {"id": "S2", "agent": "Ann", "prompt": "Read", "for_each": {"items": "S1", "at": ""}},
        ],
    }


def test_inputs_are_counted_before_a_plan_is_refused_for_its_size() -> None:
    few = {f"{number}.md": "text" for number in range(25)}
    assert len(compile_plan(parse_plan(pipeline(**few))).steps) == 2
    many = {f"{number}.md": "text" for number in range(120)}
    with pytest.raises(PlanError, match=r"12,120 instances.*S2: 120 items × 100 items"):
        compile_plan(parse_plan(pipeline(**many)))


# --- purity -------------------------------------------------------------------------------------


def imports(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", PURE)
def test_the_modules_that_decide_import_nothing_that_does_io(path: str) -> None:
    assert imports((ROOT / path).read_text(encoding="utf-8")).isdisjoint(IMPURE)
