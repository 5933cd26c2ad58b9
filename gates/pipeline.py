"""The line of gates that an artifact goes through, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from .gate import STAGES, Gate, Stage, Subject
from .registry import find_gate
from .result import GateResult
from .selection import gate_name, is_required

__all__ = ["Line", "Passage", "line_of", "run_line"]

Check = Callable[[Gate, Subject, bool], Awaitable[GateResult]]


@dataclass(frozen=True, slots=True)
class Line:
    """The gates of one artifact by stage, each with whether it has to be passed."""

    stages: tuple[tuple[Stage, tuple[tuple[Gate, bool], ...]], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """What came of an artifact: what each gate said, and the artifact with all repairs."""

    artifact: str
    results: tuple[GateResult, ...]

    @property
    def stopped_by(self) -> GateResult | None:
        """The first gate that the artifact had to pass and didn't."""
        return next((result for result in self.results if result.stops), None)


def line_of(names: Sequence[str]) -> Line:
    """Order gates by their stages, and within a stage as they are named. Pure.

    Args:
        names: As `chosen` gives them; `?` behind one that stops nothing.

    Raises:
        InputError: There is no such gate.
    """
    found = [(find_gate(gate_name(name)), is_required(name)) for name in names]
    stages: list[tuple[Stage, tuple[tuple[Gate, bool], ...]]] = [
        (stage, tuple(one for one in found if one[0].stage == stage)) for stage in STAGES
    ]
    return Line(tuple(stage for stage in stages if stage[1]))


async def run_line(line: Line, subject: Subject, check: Check) -> Passage:
    """Take a subject through a line; after a stage with a failure that stops, nothing runs.

    Repairs go one after another, each on what the last one left; the gates of another stage run
    side by side.
    """
    results: list[GateResult] = []
    for stage, some in line.stages:
        if stage == "repair":
            for gate, required in some:
                results.append(await check(gate, subject, required))
                if (repaired := results[-1].repaired) is not None:
                    subject = subject.model_copy(update={"artifact": repaired})
        else:
            checks = [check(gate, subject, required) for gate, required in some]
            results += await asyncio.gather(*checks)
        if any(result.stops for result in results):
            break
    return Passage(subject.artifact, tuple(results))
