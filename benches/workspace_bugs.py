"""Twelve bugs in a public package, mended by one agent and by four, side by side.

The package is the source distribution of toolz 1.0.0, downloaded when the bench runs.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from git_folders import committed
from own_prefect import run_with_prefect
from prefect_swarm.errors import Category
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted_edits import Call, editing

__all__ = ["run"]

PACKAGE = "toolz==1.0.0"
LATENCY_S = 2.0
CHECK = "python -m pytest -q -p no:cacheprovider toolz"
HEAD = f"""\
## Bugs in a repository

Twelve bugs are put into {PACKAGE.replace("==", " ")}, whose 180 tests find them all. A scripted
model mends each with one exact edit, runs the tests once a step and answers; each of its requests
takes {LATENCY_S:g} s. One agent mends all twelve, or four agents three each, side by side: in other
lines, or so that two of them change the same line and one is done again on top of the other. All
gates of patches, with the package's own tests as `--check`. Seconds are those of the whole run.

| | Mended | Checks | Conflicts | Attempts | Seconds | Tokens |
|---|---:|---|---:|---:|---:|---:|"""


@dataclass(frozen=True)
class Bug:
    """A line as it is and as it should be."""

    path: str
    right: str
    wrong: str

    @property
    def call(self) -> Call:
        """The edit that mends it."""
        return "edit", {"path": self.path, "old": self.wrong, "new": self.right}


BUGS = (
    Bug("toolz/dicttoolz.py", "zip(map(func, d.keys()), d.values())", "zip(d.keys(), d.values())"),
    Bug("toolz/dicttoolz.py", "        if predicate(v):", "        if not predicate(v):"),
    Bug("toolz/dicttoolz.py", "reduce(operator.getitem, keys, coll)", "coll[keys[0]]"),
    Bug("toolz/itertoolz.py", "islice(seq, 0, None, n)", "islice(seq, 1, None, n)"),
    Bug("toolz/itertoolz.py", "return itertools.islice(seq, n, None)", "return iter(seq)"),
    Bug("toolz/itertoolz.py", "return tail(1, seq)[0]", "return tail(2, seq)[0]"),
    Bug("toolz/functoolz.py", "    return func(b, a)\n", "    return func(a, b)\n"),
    Bug("toolz/functoolz.py", "    return compose(not_, func)\n", "    return compose(func)\n"),
    Bug("toolz/functoolz.py", "    func(x)\n    return x\n", "    return func(x)\n"),
    Bug("toolz/recipes.py", "pluck(1, itertools.groupby", "pluck(0, itertools.groupby"),
    Bug("toolz/recipes.py", "frequencies(map(key, seq))", "frequencies(seq)"),
    Bug("toolz/itertoolz.py", "len(seq) == len(set(seq))", "len(seq) >= len(set(seq))"),
)


def run() -> str:
    """Measure beside a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-bench-") as home:
        os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = f"{home}/home"
        folder = _package(Path(home))
        rows = [
            await _row("one agent", folder, [[*range(12)]]),
            await _row("four agents", folder, _GROUPS),
            await _row("four agents, two at one line", folder, _GROUPS, overlap=True),
        ]
    return "\n".join([HEAD, *rows])


_GROUPS = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def _package(home: Path) -> Path:
    """Return a repository of the package with all bugs in it."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--no-build-isolation", "-d", str(home), PACKAGE], check=True)
    (archive,) = home.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(home, filter="data")
    folder = archive.with_suffix("").with_suffix("")
    for bug in BUGS:
        file = folder / bug.path
        text = file.read_text(encoding="utf-8")
        assert text.count(bug.right) == 1, bug
        assert text.count(bug.wrong) == 0, bug
        file.write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")
    return committed(folder, {})


def _plan(groups: Sequence[Sequence[int]]) -> TaskIR:
    agents = [{"name": "Engineer", "system_prompt": "You mend code."}]
    steps = [
        {
            "id": f"S{number}",
            "agent": "Engineer",
            "prompt": f"Mend the bugs {', '.join(map(str, group))}.",
            "output": {"kind": "patch"},
        }
        for number, group in enumerate(groups, 1)
    ]
    return parse_plan({"objective": "Mend the package", "agents": agents, "steps": steps})


async def _row(name: str, folder: Path, groups: list[list[int]], *, overlap: bool = False) -> str:
    plan = _plan(groups)
    by_prompt = {step.prompt: group for step, group in zip(plan.steps, groups, strict=True)}

    def calls(prompt: str) -> list[Call]:
        group = next(found for text, found in by_prompt.items() if text in prompt)
        made = [BUGS[number].call for number in group]
        if overlap and 3 in group:
            # It writes the line of another agent's bug in a way of its own.
            last = BUGS[11]
            path, old = last.path, f"return {last.wrong}"
            new = "count = len(set(seq))\n        return len(seq) == count"
            made.append(("edit", {"path": path, "old": old, "new": new}))
        if overlap and 11 in group and "conflicts with" in prompt:
            made.pop()  # The files have it already.
        return [*made, ("run", {"command": CHECK})]

    quick = editing(calls)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(LATENCY_S)
        assert quick.function is not None
        found: Any = quick.function(messages, info)
        return await found

    model = FunctionModel(answer)
    options = SwarmOptions(memory=False, workspace=str(folder), checks=(CHECK,), max_concurrency=4)
    began = perf_counter()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        result = await swarm(plan.objective, plan=plan, options=options)
    seconds = perf_counter() - began
    mended = sum(bug.wrong not in _patched(folder, result.answer, bug.path) for bug in BUGS)
    attempts = [attempt for step in result.steps for attempt in step.attempts]
    conflicts = sum(attempt.category is Category.CONFLICT for attempt in attempts)
    passed = "passed" if result.status == "completed" else f"{result.status}: {result.problem[:80]}"
    tokens = result.cost.input_tokens + result.cost.output_tokens
    return (
        f"| {name} | {mended} of {len(BUGS)} | {passed} | {conflicts} | {len(attempts)} "
        f"| {seconds:.0f} | {tokens:,} |"
    )


def _patched(folder: Path, patch: str, path: str) -> str:
    """Return what a file holds with a patch, which is applied to a copy."""
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(["git", "clone", "-q", str(folder), made], check=True)
        subprocess.run(["git", "apply", "-"], cwd=made, input=patch.encode(), check=True)
        return Path(made, path).read_text(encoding="utf-8")


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
