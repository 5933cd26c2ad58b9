"""From a run with a workspace to the user's folder, all of it on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.models.resolve import override_models
from scripted_edits import editing
from taken_patches import git, new_repository

from .conftest import Invoke

pytestmark = pytest.mark.slow

FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "price.py": "def total(prices):\n    return sum(prices) + 1\n",
    "stock.py": "def left(stock, sold):\n    return stock + sold\n",
    "test_price.py": (
        "from price import total\n\n\n"
        "def test_nothing_costs_nothing():\n    assert total([]) == 0\n"
    ),
    ".gitignore": "*.pyc\n__pycache__/\n.pytest_cache/\n",
}
PLAN = {
    "objective": "Fix the shop",
    "agents": [{"name": "Engineer", "system_prompt": "You change code."}],
    "steps": [
        {"id": "S1", "agent": "Engineer", "prompt": "fix price", "output": {"kind": "patch"}},
        {"id": "S2", "agent": "Engineer", "prompt": "fix stock", "output": {"kind": "patch"}},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "shop", FILES)


@pytest.fixture
def model(prefect_server: None) -> Iterator[None]:
    made = editing(
        {
            "fix price": [
                ("edit", {"path": "price.py", "old": "sum(prices) + 1", "new": "sum(prices)"})
            ],
            "fix stock": [
                ("edit", {"path": "stock.py", "old": "stock + sold", "new": "stock - sold"})
            ],
        }
    )
    with override_models(worker=made, coder=made, architect=made, orchestrator=made):
        yield


def test_what_a_run_changed_comes_into_the_folder(
    model: None, folder: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plan := tmp_path / "plan.json").write_text(json.dumps(PLAN))
    monkeypatch.chdir(folder)
    given = ["--plan", plan, "--workspace", ".", "--check", "python -m pytest -q", "--no-memory"]
    ran = invoke("run", *given, "--output", tmp_path / "out", "--json")
    assert ran.exit_code == 0, ran.stderr
    run = json.loads(ran.stdout)["run_id"]
    assert f"Apply the patch: prefect-swarm apply {run}" in invoke("inspect", run).stdout
    assert git(folder, "status", "--porcelain") == ""

    patch = invoke("patch", run).stdout
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["S1-engineer.patch", "S2-engineer.patch", "answer.patch"]
    assert (tmp_path / "out/answer.patch").read_text() == patch
    assert "+    return stock - sold" in invoke("inspect", run).stdout
    assert "+    return stock - sold" in invoke("inspect", run, "--step", "S2").stdout

    branch = invoke("apply", run, "--branch", "fix")
    assert "2 commits" in branch.stdout
    assert git(folder, "status", "--porcelain") == ""
    applied = invoke("apply", run)
    assert applied.exit_code == 0, applied.stderr
    assert applied.stdout.splitlines()[:2] == ["changed  price.py", "changed  stock.py"]
    assert git(folder, "diff", "fix") == ""
