"""Latency of gates: each alone, with a sandbox that waits, and a pipeline on 100 artifacts.

    python benches/gates/latency.py [--rounds 15] [--artifacts 100]

The pipeline runs without Prefect, as the flow has it: light gates under a limit of two, several
artifacts at once. What it is compared with is a script that runs the same tools one after another,
a process each, outside any sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from artifacts import asked_form, joined, subject_of, tested
from machine import describe_machine
from prefect_swarm.errors import SwarmError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.gates import (
    Gate,
    GateCache,
    GateResult,
    Subject,
    build_pipeline,
    check,
    find_gate,
    ready_for,
    run_pipeline,
    select_gates,
)
from prefect_swarm.gates.sandbox import Program, backend_kind, run
from prefect_swarm.plan.task_ir import OutputKind
from tools import run_tools

MIX: tuple[tuple[OutputKind, float], ...] = (("python", 0.4), ("shell", 0.3), ("json", 0.3))
AT_ONCE = (1, 2, 8)
LIGHT = SwarmOptions().gate_concurrency
_PRESTART_S = 1.5
Made = Callable[[int], Subject]


def _of(kind: OutputKind) -> Made:
    return lambda n: subject_of(kind, n)


GATES: tuple[tuple[str, str, Made], ...] = (
    ("schema", "JSON", _of("json")),
    ("format", "Python", _of("python")),
    ("format", "shell", _of("shell")),
    ("lint", "Python", _of("python")),
    ("shellcheck", "shell", _of("shell")),
    ("typecheck", "Python", _of("python")),
    ("unit", "Python, an example", _of("python")),
    ("unit", "Python, two tests of its own", tested),
    ("integration", "Python and a module that it reads, tested", joined),
    *((name, "text", _of("text")) for name in ("repetition", "length", "sections", "citations")),
    ("form", "text, a table", asked_form),
)


async def gates_table(rounds: int) -> str:
    """Return median milliseconds of each gate, the first time and from the cache."""
    lines = ["| Gate | artifact | cold, ms | cached, ms |", "|---|---|--:|--:|"]
    with TemporaryDirectory() as folder:
        for name, about, made in GATES:
            lines.append(await _row(name, about, made, GateCache(Path(folder)), rounds))
    return "\n".join(lines)


async def _row(name: str, about: str, made: Made, cache: GateCache, rounds: int) -> str:
    gate = find_gate(name)
    try:
        gate.version()  # Asked once a process.
    except SwarmError as error:
        return f"| {name} | {about} | {error.problem} | |"
    cold: list[float] = []
    cached: list[float] = []
    for n in range(1, rounds + 1):
        for times in (cold, cached):
            began = time.perf_counter()
            result = await check(gate, made(n), cache=cache)
            times.append(1000 * (time.perf_counter() - began))
            _expect(result)
    return f"| {name} | {about} | {median(cold):.1f} | {median(cached):.2f} |"


async def waiting_table(rounds: int) -> str:
    """Return median milliseconds of a check whose sandbox is started for it, or waits for it."""
    lines = [
        "| Check | sandbox started for it, ms | sandbox that waits, ms | ratio |",
        "|---|--:|--:|--:|",
    ]
    gate = find_gate("unit")
    for about, made in (("two tests", tested), ("an example", _of("python"))):
        started: list[float] = []
        waited: list[float] = []
        for n in range(1, rounds + 1):
            started.append(await _taken(gate, made(n)))
            with ready_for(["unit"]):
                # A model's answer leaves as much, and more.
                await asyncio.sleep(_PRESTART_S)
                waited.append(await _taken(gate, made(n)))
        ratio = median(waited) / median(started)
        lines.append(f"| {about} | {median(started):.0f} | {median(waited):.0f} | {ratio:.2f} |")
    return "\n".join(lines)


async def _taken(gate: Gate, subject: Subject) -> float:
    began = time.perf_counter()
    _expect(await check(gate, subject))
    return 1000 * (time.perf_counter() - began)


def _expect(result: GateResult) -> None:
    if result.status != "passed":
        raise RuntimeError(f"{result.gate} was to pass: {result.diagnostics}")


async def sandbox_table(rounds: int) -> str:
    """Return what it takes to probe for a sandbox backend, and to start some programs."""
    began = time.perf_counter()
    backend = await asyncio.to_thread(backend_kind)
    found = 1000 * (time.perf_counter() - began)
    rows = [f"| probing for the sandbox backend ({backend}), once a process | {found:.0f} |"]
    for about, argv in (
        ("a program that does nothing", ("/bin/true",)),
        ("a shell", ("/bin/sh", "-c", ":")),
        ("Python", ("python", "-c", "pass")),
    ):
        times: list[float] = []
        for _ in range(rounds):
            began = time.perf_counter()
            await run(Program(argv))
            times.append(1000 * (time.perf_counter() - began))
        rows.append(f"| {about} | {median(times):.0f} |")
    return "\n".join(["| In the sandbox | ms |", "|---|--:|", *rows])


async def line_table(count: int) -> str:
    """Return seconds of all artifacts through the pipeline, and by the tools one after another."""
    subjects = [
        subject_of(kind, n) for kind, part in MIX for n in range(1, round(count * part) + 1)
    ]
    began = time.perf_counter()
    with TemporaryDirectory() as folder:
        run_tools(subjects, Path(folder))
    tools = time.perf_counter() - began
    rows = [f"| the tools one after another, no sandbox | {tools:.1f} | 1.00 |"]
    for at_once in AT_ONCE:
        with TemporaryDirectory() as folder:
            cache = GateCache(Path(folder))
            for about in ("", ", all in the cache"):
                taken = await _through(subjects, cache, at_once)
                name = f"the pipeline, {at_once} at once{about}"
                rows.append(f"| {name} | {taken:.1f} | {tools / taken:.2f} |")
    head = f"| {len(subjects)} artifacts | seconds | times as fast as the tools |"
    return "\n".join([head, "|---|--:|--:|", *rows])


async def _through(subjects: Sequence[Subject], cache: GateCache, at_once: int) -> float:
    light, places = asyncio.Semaphore(LIGHT), asyncio.Semaphore(at_once)

    async def held(gate: Gate, subject: Subject, required: bool) -> GateResult:
        if gate.stage != "light":
            return await check(gate, subject, required=required, cache=cache)
        async with light:
            return await check(gate, subject, required=required, cache=cache)

    async def pass_through(subject: Subject) -> None:
        async with places:
            result = await run_pipeline(build_pipeline(select_gates(subject.output)), subject, held)
        if result.stopped_by:
            _expect(result.stopped_by)

    began = time.perf_counter()
    await asyncio.gather(*map(pass_through, subjects))
    return time.perf_counter() - began


async def _main(rounds: int, count: int) -> None:
    print(await sandbox_table(rounds), end="\n\n", flush=True)
    print(await waiting_table(rounds), end="\n\n", flush=True)
    print(await gates_table(rounds), end="\n\n", flush=True)
    print(await line_table(count), describe_machine(), sep="\n\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="times each gate is measured")
    parser.add_argument("--artifacts", type=int, default=100, help="artifacts of the pipeline")
    args = parser.parse_args()
    asyncio.run(_main(args.rounds, args.artifacts))
