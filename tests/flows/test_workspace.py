"""A swarm that changes a repository: each step in its own copy, patches taken in turn."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm import SwarmOptions, SwarmResult, override_models, swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
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
        {"agent": "Engineer", "output": {"kind": "patch", **step.pop("output", {})}, **step}
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
