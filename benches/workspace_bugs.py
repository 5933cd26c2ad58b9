"""Bugs in two public packages, mended by one agent and by four, side by side.

The packages are source distributions, downloaded when the bench runs.
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

LATENCY_S = 2.0
HEAD = f"""\
## Bugs in a repository

Twelve bugs are put into toolz 1.0.0, and four into the one module of inflection 0.5.1; their 180
and 455 tests find them all. A scripted model mends each with one exact edit, runs the tests once a
step and answers; each of its requests takes {LATENCY_S:g} s. One agent mends all, or four agents
a quarter each, side by side: in other lines, or so that two of them change the same line and one is
done again on top of the other. All gates of patches, with the package's own tests as `--check`, in
an environment that has pytest and ruff (`--python`). Seconds are those of the whole run.

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


TOOLZ_BUGS = (
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
_INFLECTION = "inflection/__init__.py"
INFLECTION_BUGS = (
    Bug(_INFLECTION, "return word.replace('_', '-')", "return word.replace('-', '_')"),
    Bug(_INFLECTION, "return pluralize(underscore(word))", "return underscore(word)"),
    Bug(_INFLECTION, "    return string.lower()\n", "    return string.upper()\n"),
    Bug(_INFLECTION, 'return "{}{}".format(number, ordinal(number))', "return ordinal(number)"),
)


@dataclass(frozen=True)
class Package:
    """A package with bugs, and the tests that find them."""

    name: str
    tests: str
    bugs: tuple[Bug, ...]

    @property
    def check(self) -> str:
        """The command that runs its tests."""
        return f"python -m pytest -q -p no:cacheprovider {self.tests}"


TOOLZ = Package("toolz==1.0.0", "toolz", TOOLZ_BUGS)
INFLECTION = Package("inflection==0.5.1", "test_inflection.py", INFLECTION_BUGS)


def run() -> str:
    """Measure beside a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-bench-") as home:
        os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = f"{home}/home"
        python = _environment(Path(home))
        toolz, inflection = (_made(Path(home), package) for package in (TOOLZ, INFLECTION))
        rows = [
            await _row("toolz, one agent", TOOLZ, toolz, python, [[*range(12)]]),
            await _row("toolz, four agents", TOOLZ, toolz, python, _GROUPS),
            await _row(
                "toolz, four agents, two at one line", TOOLZ, toolz, python, _GROUPS, overlap=True
            ),
            await _row("inflection, one agent", INFLECTION, inflection, python, [[*range(4)]]),
            await _row(
                "inflection, four agents", INFLECTION, inflection, python, [[0], [1], [2], [3]]
            ),
        ]
    return "\n".join([HEAD, *rows])


def _environment(home: Path) -> Path:
    """Return the Python of an environment that the packages' tests are run in."""
    folder = home / "env"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pins = Path(__file__).parents[1] / "constraints.txt"
    command = [str(python), "-m", "pip", "install", "-q", "-c", str(pins), "pytest", "ruff"]
    subprocess.run(command, check=True)
    return python


_GROUPS = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def _made(home: Path, package: Package) -> Path:
    """Return a repository of a package with all bugs in it."""
    place = home / package.tests
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--no-build-isolation", "-d", str(place), package.name], check=True)
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(place, filter="data")
    folder = archive.with_suffix("").with_suffix("")
    for bug in package.bugs:
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


async def _row(
    name: str,
    package: Package,
    folder: Path,
    python: Path,
    groups: list[list[int]],
    *,
    overlap: bool = False,
) -> str:
    bugs, check = package.bugs, package.check
    plan = _plan(groups)
    by_prompt = {step.prompt: group for step, group in zip(plan.steps, groups, strict=True)}

    def calls(prompt: str) -> list[Call]:
        group = next(found for text, found in by_prompt.items() if text in prompt)
        made = [bugs[number].call for number in group]
        if overlap and 3 in group:
            # It writes the line of another agent's bug in a way of its own.
            last = bugs[11]
            path, old = last.path, f"return {last.wrong}"
            new = "count = len(set(seq))\n        return len(seq) == count"
            made.append(("edit", {"path": path, "old": old, "new": new}))
        if overlap and 11 in group and "conflicts with" in prompt:
            made.pop()  # The files have it already.
        return [*made, ("run", {"command": check})]

    quick = editing(calls)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(LATENCY_S)
        assert quick.function is not None
        found: Any = quick.function(messages, info)
        return await found

    model = FunctionModel(answer)
    options = SwarmOptions(
        memory=False,
        workspace=str(folder),
        checks=(check,),
        python=str(python),
        max_concurrency=4,
    )
    began = perf_counter()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        result = await swarm(plan.objective, plan=plan, options=options)
    seconds = perf_counter() - began
    mended = sum(bug.wrong not in _patched(folder, result.answer, bug.path) for bug in bugs)
    attempts = [attempt for step in result.steps for attempt in step.attempts]
    conflicts = sum(attempt.category is Category.CONFLICT for attempt in attempts)
    passed = "passed" if result.status == "completed" else f"{result.status}: {result.problem[:80]}"
    tokens = result.cost.input_tokens + result.cost.output_tokens
    return (
        f"| {name} | {mended} of {len(bugs)} | {passed} | {conflicts} | {len(attempts)} "
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
