"""Reading of the small files in this folder."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shapes import Part, Shape
from simulate import Job, ordered_jobs
from waves import wave_makespan

__all__ = ["Household", "read_households", "read_records"]


def read_records(name: str) -> list[dict[str, Any]]:
    """Return the records of `NAME.jsonl.gz`."""
    with gzip.open(Path(__file__).with_name(f"{name}.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@dataclass(frozen=True)
class Household:
    """A plan of AsyncHow: steps of everyday work, what each needs, and how long it takes.

    Attributes:
        shape: Its steps, with times that make the gold time what was asked for.
    """

    shape: Shape

    @property
    def gold(self) -> float:
        """Seconds of the longest chain."""
        return self.shape.critical_path

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The steps for the simulated schedule, each with the path that remains from it."""
        parts = self.shape.parts
        needs = {name: part.needs for name, part in parts.items()}
        return ordered_jobs(needs, {name: part.seconds for name, part in parts.items()})

    @property
    def one_after_another(self) -> float:
        """Seconds of all steps together, which one agent takes."""
        return sum(part.seconds for part in self.shape.parts.values())

    @property
    def in_waves(self) -> float:
        """Seconds if each level waits for the last step of the level before it."""
        return wave_makespan(self.jobs, len(self.jobs))


def read_households(gold_s: float) -> list[Household]:
    """Return AsyncHow's plans, with the times of each multiplied so that its gold time is this."""
    return [_household(record, gold_s) for record in read_records("asynchow")]


def _household(record: dict[str, Any], gold_s: float) -> Household:
    seconds: dict[str, float] = record["seconds"]
    needs: dict[str, list[str]] = {name: [] for name in seconds}
    for before, after in record["edges"]:
        needs[after].append(before)
    jobs = ordered_jobs({name: tuple(before) for name, before in needs.items()}, seconds)
    scale = gold_s / max(job.priority for job in jobs)
    scaled = {job.id: Part(job.duration * scale, job.upstream) for job in jobs}
    return Household(Shape(record["title"], scaled))
