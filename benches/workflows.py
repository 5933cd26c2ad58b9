"""Traces of scientific workflows through the schedule, in virtual time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time

from simulate import Job, makespan, ordered_jobs
from waves import wave_makespan

__all__ = ["run"]

SLOTS = (16, 64)
FETCH = "git clone --depth 1 https://github.com/wfcommons/WfInstances"
HEAD = """\
## Plans of thousands of steps: WfCommons

How near to the shortest possible time is the schedule where slots are short, and what does a step
cost it? [WfInstances](https://github.com/wfcommons/WfInstances) (LGPL-3.0; fetched, not shipped)
has traces of scientific workflows that ran on real clusters: tasks, edges, seconds. Virtual time;
no plan can end before its longest chain, or before all its work divided by the slots: the figure is
time ÷ the larger of the two, median and worst; not every plan can reach it. *Known* has the
schedule know how long each step takes; *unknown* has it count steps alone, as before anything was
measured. In waves, each level waits for the one before, and the times are known. A step's cost is
processor time of the schedule, the simulation around it included.

| Workflows | Of | Steps | Slots | Known | Unknown | Waves | µs a step |
|---|---:|---:|---:|---:|---:|---:|---:|"""


def run() -> str:
    """Measure and return the table.

    Raises:
        SystemExit: The traces aren't there.
    """
    folder = os.environ.get("WFINSTANCES")
    if not folder or not (found := [*_read(Path(folder))]):
        raise SystemExit(
            f"There are no traces. Run `{FETCH}`, and then name the folder:\n"
            "WFINSTANCES=WfInstances python benches/run.py workflows"
        )
    sets: dict[str, list[tuple[Job, ...]]] = {}
    for name, jobs in found:
        sets.setdefault(name, []).append(jobs)
    rows = [row for name in sorted(sets) for row in _rows(name, sets[name])]
    return "\n".join([HEAD, *rows])


def _read(folder: Path) -> Iterator[tuple[str, tuple[Job, ...]]]:
    """Yield set and steps of each trace."""
    for path in sorted(folder.rglob("*.json")):
        workflow = json.loads(path.read_text("utf-8")).get("workflow") or {}
        tasks = (workflow.get("specification") or {}).get("tasks")
        ran = (workflow.get("execution") or {}).get("tasks")
        if not tasks or not ran:
            continue
        seconds = {task["id"]: float(task["runtimeInSeconds"]) for task in ran}
        needs = {task["id"]: tuple(dict.fromkeys(task.get("parents") or ())) for task in tasks}
        if path.parent.name != "helloworld" and (jobs := ordered_jobs(needs, seconds)):
            yield path.parent.name, jobs


def _unknown(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Return steps of which the schedule knows only how many may follow on each."""
    even = ordered_jobs(
        {job.id: job.upstream for job in jobs}, dict.fromkeys((j.id for j in jobs), 1.0)
    )
    left = {job.id: job.priority for job in even}
    return tuple(replace(job, priority=left[job.id]) for job in jobs)


def _rows(name: str, traces: Sequence[tuple[Job, ...]]) -> Iterator[str]:
    steps = [len(jobs) for jobs in traces]
    sizes = f"{min(steps):,}" if min(steps) == max(steps) else f"{min(steps):,} to {max(steps):,}"
    for slots in SLOTS:
        known: list[float] = []
        unknown: list[float] = []
        waves: list[float] = []
        spent = 0.0
        for jobs in traces:
            work = sum(job.duration for job in jobs)
            bound = max(max(job.priority for job in jobs), work / slots)
            if not bound:
                continue
            began = process_time()
            known.append(makespan(jobs, slots) / bound)
            spent += process_time() - began
            unknown.append(makespan(_unknown(jobs), slots) / bound)
            waves.append(wave_makespan(jobs, slots) / bound)
        cells = [f"{median(each):.3f}, {max(each):.3f}" for each in (known, unknown, waves)]
        cost = 1e6 * spent / sum(steps)
        yield (
            f"| {name} | {len(traces)} | {sizes} | {slots} | {' | '.join(cells)} | {cost:,.0f} |"
        )
