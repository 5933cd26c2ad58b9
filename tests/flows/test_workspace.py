"""A swarm that changes a repository: each step in its own copy, patches taken in turn."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plan_edits import edit_prompt
from prefect_swarm import SwarmOptions, SwarmResult, fork, override_models, swarm
from prefect_swarm.errors import Category, PlanError, WorkspaceError
from prefect_swarm.flows import workspace as workspaces
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.plan.output import OutputKind
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import EndedEvent, RunEvent
from prefect_swarm.store.result import RunFailedError
from scripted_edits import Call, editing

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return sum(prices) + 1\n",
    "shop/stock.py": "def left(stock, sold):\n    return stock + sold\n",
    "tests/test_price.py": (
        "from shop.price import total\n\n\n"
        "def test_nothing_costs_nothing():\n    assert total([]) == 0\n"
    ),
    "tests/test_stock.py": (
        "from shop.stock import left\n\n\n"
        "def test_nothing_sold():\n    assert left(3, 0) == 3\n\n\n"
        "def test_some_sold():\n    assert left(3, 1) == 2\n"
    ),
    ".gitignore": "*.pyc\n__pycache__/\n.pytest_cache/\n",
}
LIGHT: dict[OutputKind, tuple[str, ...]] = {"patch": ("applies", "secrets", "tests-kept")}
"""Gates that need no sandbox."""
FIX_PRICE: Call = (
    "edit",
    {"path": "shop/price.py", "old": "sum(prices) + 1", "new": "sum(prices)"},
)
FIX_STOCK: Call = ("edit", {"path": "shop/stock.py", "old": "stock + sold", "new": "stock - sold"})


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "first")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def plan_of_patches(*steps: dict[str, Any]) -> TaskIR:
    agents = [{"name": "Engineer", "system_prompt": "You change code.", "tier": "worker"}]
    whole = [
        step
        if "call" in step
        else {"agent": "Engineer", "output": {"kind": "patch", **step.pop("output", {})}, **step}
        for step in steps
    ]
    return parse_plan({"objective": "Fix the shop", "agents": agents, "steps": whole})


def run(plan: TaskIR, folder: Path, model: Any, **options: Any) -> SwarmResult:
    own = SwarmOptions(memory=False, workspace=str(folder), **options)
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        return asyncio.run(swarm("Fix the shop", plan=plan, options=own))


def test_two_bugs_are_fixed_by_two_patches_that_are_one_answer(shop: Path) -> None:
    before = git(shop, "status", "--porcelain"), git(shop, "rev-parse", "HEAD")
    plan = plan_of_patches(
        {"id": "S1", "prompt": "fix the price"}, {"id": "S2", "prompt": "fix the stock"}
    )
    seen: list[tuple[str, list[str]]] = []
    model = editing(
        {
            "fix the price": [("read", {"path": "shop/price.py"}), FIX_PRICE],
            "fix the stock": [FIX_STOCK, ("run", {"command": "python -m pytest -q"})],
        },
        seen,
    )
    result = run(plan, shop, model, checks=("python -m pytest -q",))
    assert (result.status, result.problem) == ("completed", "")
    assert "-    return sum(prices) + 1\n+    return sum(prices)" in result.answer
    assert "-    return stock + sold\n+    return stock - sold" in result.answer
    stock = next(results for prompt, results in seen if "fix the stock" in prompt)
    assert "1 failed, 2 passed" in stock[-1]
    assert (git(shop, "status", "--porcelain"), git(shop, "rev-parse", "HEAD")) == before


def test_a_step_starts_from_the_patches_of_those_that_it_depends_on(shop: Path) -> None:
    plan = plan_of_patches(
        {"id": "S1", "prompt": "fix the price"},
        {"id": "S2", "prompt": "add a discount", "depends_on": ["S1"]},
    )
    seen: list[tuple[str, list[str]]] = []
    discount = {
        "path": "shop/price.py",
        "old": "    return sum(prices)\n",
        "new": "    whole = sum(prices)\n    return whole * 9 // 10 if whole > 100 else whole\n",
    }
    model = editing(
        {
            "add a discount": [("read", {"path": "shop/price.py"}), ("edit", discount)],
            "fix the price": [FIX_PRICE],
        },
        seen,
    )
    result = run(plan, shop, model, gates=LIGHT)
    assert result.status == "completed"
    second = next(results for prompt, results in seen if "add a discount" in prompt)
    assert "return sum(prices)" in second[0]
    assert "sum(prices) + 1" not in second[0]
    assert "-    return sum(prices) + 1\n+    whole = sum(prices)" in result.answer


def in_conflict(shop: Path) -> tuple[SwarmResult, Any]:
    """Run two steps whose patches conflict; return the result and the model that did them."""
    plan = plan_of_patches(
        {"id": "S1", "prompt": "rename to amounts"}, {"id": "S2", "prompt": "fix the price"}
    )
    rename = {
        "path": "shop/price.py",
        "content": "def total(amounts):\n    return sum(amounts) + 1\n",
    }
    both: Call = (
        "edit",
        {"path": "shop/price.py", "old": "sum(amounts) + 1", "new": "sum(amounts)"},
    )
    first_is_taken = asyncio.Event()

    def calls(prompt: str) -> list[Call]:
        if "rename to amounts" in prompt:
            return [("write", rename)]
        return [both] if "conflicts with the patch of S1" in prompt else [FIX_PRICE]

    model = editing(calls, after={"fix the price": first_is_taken})

    def note(event: RunEvent) -> None:
        if isinstance(event, EndedEvent) and event.step == "S1":
            first_is_taken.set()

    with controlled(RunControl(listener=note)):
        return run(plan, shop, model, gates=LIGHT), model


def test_what_conflicts_is_done_again_on_top_of_what_was_taken(shop: Path) -> None:
    result, _ = in_conflict(shop)
    assert result.status == "completed"
    second = result.steps[1]
    assert [attempt.category for attempt in second.attempts] == [Category.CONFLICT, None]
    assert "def total(amounts):\n+    return sum(amounts)\n" in result.answer


def test_a_fork_makes_a_patch_anew_that_was_made_on_one_that_it_makes_anew(shop: Path) -> None:
    first, model = in_conflict(shop)
    # Renamed by hand meanwhile: the fork starts from the files as its source did.
    (shop / "shop" / "price.py").write_text("changed = True\n")
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        kept = asyncio.run(fork(first.run_id, again=["S2"]))
        anew = asyncio.run(fork(first.run_id, again=["S1"]))
    assert kept.status == anew.status == "completed"
    assert [step.taken_from is not None for step in kept.steps] == [True, False]
    assert [step.taken_from is not None for step in anew.steps] == [False, False]


def test_each_item_has_a_patch_of_its_own(shop: Path) -> None:
    step = {
        "id": "S1",
        "prompt": "describe {item}",
        "for_each": {"items": ["shop/price.py", "shop/stock.py"]},
    }

    def calls(prompt: str) -> list[Call]:
        name = next(name for name in ("price", "stock") if f"describe shop/{name}.py" in prompt)
        path = f"shop/{name}.py"
        return [("write", {"path": path, "content": f'"""{name}"""\n{FILES[path]}'})]

    result = run(plan_of_patches(step), shop, editing(calls), gates=LIGHT)
    assert result.status == "completed"
    assert '+"""price"""' in result.answer
    assert '+"""stock"""' in result.answer


def test_a_step_that_makes_no_patch_reads_the_files_and_changes_none(shop: Path) -> None:
    plan = parse_plan(
        {
            "objective": "Fix the shop",
            "agents": [{"name": "Reader", "system_prompt": "You read.", "tools": ["workspace"]}],
            "steps": [{"id": "S1", "agent": "Reader", "prompt": "look at the files"}],
        }
    )
    seen: list[tuple[str, list[str]]] = []
    model = editing({"look at the files": [("search", {"text": "def "}), FIX_PRICE]}, seen)
    result = run(plan, shop, model)
    assert result.answer == "It is done."
    ((_, (found, refused)),) = seen
    assert "shop/price.py:1: def total(prices):" in found
    assert "edit" in refused
    assert (shop / "shop/price.py").read_text(encoding="utf-8") == FILES["shop/price.py"]


def test_a_weakened_test_is_named_to_the_next_attempt(shop: Path) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "make the tests pass"})
    weaker = {"path": "tests/test_price.py", "old": "== 0", "new": ">= 0"}

    def calls(prompt: str) -> list[Call]:
        return [FIX_PRICE] if "test_nothing_costs_nothing" in prompt else [("edit", weaker)]

    result = run(plan, shop, editing(calls), gates=LIGHT)
    assert result.status == "completed"
    first, second = result.steps[0].attempts
    assert first.error is not None
    assert "tests-kept" in first.error
    assert second.category is None
    assert ">= 0" not in result.answer


def test_uncommitted_changes_are_part_of_the_base(shop: Path) -> None:
    (shop / "notes.txt").write_text("mine\n", encoding="utf-8")
    (shop / "shop/price.py").write_text(FILES["shop/price.py"].replace("1", "2"), encoding="utf-8")
    change: Call = ("edit", {"path": "shop/price.py", "old": " + 2", "new": ""})
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    seen: list[tuple[str, list[str]]] = []
    look: Call = ("read", {"path": "notes.txt"})
    result = run(plan, shop, editing({"fix the price": [look, change]}, seen), gates=LIGHT)
    assert result.status == "completed"
    assert "mine" in seen[0][1][0]
    assert "-    return sum(prices) + 2" in result.answer
    assert "notes.txt" not in result.answer


def test_a_plan_with_patches_needs_a_workspace(shop: Path) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    with pytest.raises(PlanError, match="--workspace"):
        asyncio.run(swarm("Fix the shop", plan=plan, options=SwarmOptions(memory=False)))


def test_a_folder_that_is_not_there_is_said_before_a_model_is_asked(tmp_path: Path) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    with pytest.raises(WorkspaceError, match="is no folder"):
        run(plan, tmp_path / "none", editing({}))


def test_rounds_go_on_from_each_other_until_the_checks_pass(shop: Path) -> None:
    fix = {"id": "S1", "agent": "Engineer", "prompt": "fix a bug", "output": {"kind": "patch"}}
    found = {
        "type": "object",
        "properties": {"problems": {"type": "array"}},
        "required": ["problems"],
    }
    look = {
        "id": "S2",
        "agent": "Tester",
        "prompt": "run the checks",
        "depends_on": ["S1"],
        "output": {"kind": "json", "schema": found},
    }
    plan = parse_plan(
        {
            "objective": "Fix the shop",
            "agents": [
                {"name": "Engineer", "system_prompt": "You change code."},
                {"name": "Tester", "system_prompt": "You test.", "tools": ["workspace"]},
            ],
            "steps": [
                {
                    "id": "S1",
                    "plan": {"steps": [fix, look], "final_step": "S2"},
                    "repeat": {"until": {"at": "/problems", "empty": True}, "max_rounds": 3},
                }
            ],
        }
    )

    def calls(prompt: str) -> list[Call]:
        if "run the checks" in prompt:
            return [("run", {"command": "grep -n '+ ' shop/*.py || echo none"})]
        return [FIX_STOCK] if "1 bug is left" in prompt else [FIX_PRICE]

    def said(_: str, results: Sequence[str]) -> str:
        if not results or "[exit code" not in results[-1]:
            return "It is done."
        return json.dumps({"problems": ["1 bug is left"] if "+ sold" in results[-1] else []})

    result = run(plan, shop, editing(calls, says=said), gates=LIGHT)
    assert result.status == "completed", result.problem
    assert len([step for step in result.steps if step.id.endswith(".S2")]) == 2
    assert "-    return sum(prices) + 1" in result.answer
    assert "-    return stock + sold" in result.answer


def test_a_reviewer_reads_the_patch_and_may_refuse_it(shop: Path) -> None:
    step = {"id": "S1", "prompt": "fix the price", "review": {"agent": "Reviewer"}}
    agents = [
        {"name": "Engineer", "system_prompt": "You change code."},
        {"name": "Reviewer", "system_prompt": "You review."},
    ]
    steps = [{"agent": "Engineer", "output": {"kind": "patch"}, **step}]
    plan = parse_plan({"objective": "Fix the shop", "agents": agents, "steps": steps})
    wrong: Call = ("edit", {"path": "shop/price.py", "old": "+ 1", "new": "- 1"})

    def calls(prompt: str) -> list[Call]:
        if "@@" in prompt:
            return []
        return [FIX_PRICE] if "it subtracts" in prompt else [wrong]

    def said(prompt: str, _: Sequence[str]) -> str:
        if "@@" not in prompt:
            return "It is done."
        accepts = "sum(prices) - 1" not in prompt
        verdict = "accept" if accepts else "refuse"
        return json.dumps(
            {"reasons": ["it adds" if accepts else "it subtracts"], "verdict": verdict}
        )

    seen: list[tuple[str, list[str]]] = []
    result = run(plan, shop, editing(calls, seen, says=said), gates=LIGHT)
    assert result.status == "completed", [prompt for prompt, _ in seen]
    assert len(result.steps[0].attempts) == 2
    assert "+    return sum(prices)\n" in result.answer


def test_a_fork_starts_from_the_patches_of_the_steps_that_it_takes_over(shop: Path) -> None:
    plan = plan_of_patches(
        {"id": "S1", "prompt": "fix the price"},
        {"id": "S2", "prompt": "fix the stock", "depends_on": ["S1"]},
    )
    look: Call = ("read", {"path": "shop/price.py"})
    seen: list[tuple[str, list[str]]] = []
    model = editing({"fix the stock": [look, FIX_STOCK], "fix the price": [FIX_PRICE]}, seen)
    first = run(plan, shop, model, gates=LIGHT)
    assert first.status == "completed"
    seen.clear()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        second = asyncio.run(fork(first.run_id, again=["S2"]))
    assert second.status == "completed"
    ((prompt, (read, _)),) = seen
    assert "fix the stock" in prompt
    assert "return sum(prices)\n" in read
    assert second.answer == first.answer


def test_an_edited_plan_drops_the_patches_of_the_steps_that_it_changes(shop: Path) -> None:
    plan = plan_of_patches(
        {"id": "S1", "prompt": "raise the price"},
        {"id": "S2", "prompt": "fix the stock"},
        {"id": "S3", "prompt": "look at both", "depends_on": ["S1", "S2"]},
    )
    more: Call = ("edit", {"path": "shop/price.py", "old": "+ 1", "new": "+ 2"})
    calls: dict[str, list[Call]] = {
        "look at both": [("write", {"path": "seen", "content": "both\n"})],
        "raise the price": [more],
        "mend the price": [FIX_PRICE],
        "fix the stock": [FIX_STOCK],
    }

    def note(event: RunEvent) -> None:
        if event.kind == "started" and event.step == "S3" and not edited:
            edited.append(event.step)
            edit_prompt(event.run, "S1", "mend the price")

    edited: list[str] = []
    with controlled(RunControl(listener=note)):
        result = run(plan, shop, editing(calls), gates=LIGHT)
    assert result.status == "completed"
    assert edited
    assert "+    return sum(prices)\n" in result.answer
    assert "sum(prices) + 2" not in result.answer
    # Two for each step, and two more for those that were done anew.
    assert result.cost.calls == 10


def test_a_planner_is_told_of_the_files_and_writes_patches(shop: Path) -> None:
    planned = {
        "create_subagent": [{"name": "Maintainer", "system_prompt": "Mend.", "tier": "worker"}],
        "assign_task": [
            {
                "id": "T1",
                "agent": "Maintainer",
                "prompt": "fix the price",
                "output": {"kind": "patch", "only": ["shop/**"]},
            }
        ],
    }
    asked: list[str] = []

    def says(prompt: str, _: Sequence[str]) -> str:
        if "fix the price" in prompt:
            return "It is done."
        asked.append(prompt)
        return json.dumps(planned)

    model = editing({"fix the price": [FIX_PRICE]}, says=says)
    own = SwarmOptions(memory=False, workspace=str(shop), gates=LIGHT, turns=1, explore=0)
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        result = asyncio.run(swarm("Fix the shop", options=own))
    assert (result.status, result.problem) == ("completed", "")
    assert "7 files" in asked[0]
    assert result.plan.steps[0].output.only == ("shop/**",)
    assert "+    return sum(prices)\n" in result.answer


def test_the_checks_without_a_patch_are_run_while_the_first_one_is_made(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def noted(*_: Any) -> tuple[()]:
        begun.set()
        return ()

    monkeypatch.setattr(workspaces, "checked", noted)
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    model = editing({"fix the price": [FIX_PRICE]}, after={"fix the price": begun})
    result = run(plan, shop, model, gates=LIGHT, checks=("true",))
    assert result.status == "completed"


def test_a_call_of_a_plan_reads_the_files_as_its_step_starts(shop: Path) -> None:
    reads = {"toolset": "workspace", "tool": "read", "arguments": {"path": "shop/price.py"}}
    plan = plan_of_patches(
        {"id": "S1", "prompt": "fix the price"}, {"id": "S2", "call": reads, "depends_on": ["S1"]}
    )
    result = run(plan, shop, editing({"fix the price": [FIX_PRICE]}), gates=LIGHT)
    assert result.status == "completed"
    assert "return sum(prices)" in str(result["S2"].output)
    assert "sum(prices) + 1" not in str(result["S2"].output)


@pytest.mark.parametrize("words", ["", "I'm sorry, but I can't help with that."])
def test_what_is_said_of_a_patch_does_not_fail_it(shop: Path, words: str) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    model = editing({"fix the price": [FIX_PRICE]}, says=lambda _prompt, _results: words)
    result = run(plan, shop, model, gates=LIGHT)
    assert (result.status, len(result.steps[0].attempts)) == ("completed", 1)
    assert "+    return sum(prices)\n" in result.answer


def test_a_model_without_tools_answers_with_a_diff(shop: Path) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    diff = (
        "Here it is:\n```diff\n--- a/shop/price.py\n+++ b/shop/price.py\n@@ -1,2 +1,2 @@\n"
        " def total(prices):\n-    return sum(prices) + 1\n+    return sum(prices)\n```"
    )
    result = run(plan, shop, editing({}, says=lambda _prompt, _results: diff), gates=LIGHT)
    assert result.status == "completed"
    assert "+    return sum(prices)\n" in result.answer


def test_a_patch_that_no_gate_has_looked_at_and_does_not_fit_is_a_failure(shop: Path) -> None:
    plan = plan_of_patches({"id": "S1", "prompt": "fix the price"})
    diff = "```diff\n--- a/shop/none.py\n+++ b/shop/none.py\n@@ -1 +1 @@\n-a\n+b\n```"
    model = editing({}, says=lambda _prompt, _results: diff)
    with pytest.raises(RunFailedError) as raised:
        run(plan, shop, model, gates={"patch": ()}, max_attempts=2)
    assert raised.value.result is not None
    attempts = raised.value.result.steps[0].attempts
    assert [attempt.category for attempt in attempts] == [Category.FORMAT] * 2
