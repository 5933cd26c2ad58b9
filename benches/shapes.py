"""Uneven plans, in which a barrier between levels costs time that no step needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prefect_swarm.plan.task_ir import TaskIR, parse_plan

__all__ = ["SHAPES", "UNEVEN", "Part", "Shape", "waiting"]


@dataclass(frozen=True, slots=True)
class Part:
    """A step that takes `seconds` once the parts it needs are done."""

    seconds: float
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """Parts by name, each after those it needs."""

    name: str
    parts: Mapping[str, Part]

    @property
    def critical_path(self) -> float:
        """Seconds of the longest chain, which nothing can beat."""
        end: dict[str, float] = {}
        for name, part in self.parts.items():
            end[name] = part.seconds + max((end[needed] for needed in part.needs), default=0.0)
        return max(end.values())

    @property
    def with_barriers(self) -> float:
        """Seconds if each level waits for all of the level before it."""
        level: dict[str, int] = {}
        longest: dict[int, float] = {}
        for name, part in self.parts.items():
            depth = 1 + max((level[needed] for needed in part.needs), default=0)
            level[name] = depth
            longest[depth] = max(longest.get(depth, 0.0), part.seconds)
        return sum(longest.values())

    def plan(self) -> TaskIR:
        """Write it in the plan language; each prompt says how long its step takes."""
        ids = {name: f"S{number}" for number, name in enumerate(self.parts, 1)}
        steps = [
            {
                "id": ids[name],
                "agent": "Waiter",
                "prompt": f"{name}: {waiting(part.seconds)}",
                "depends_on": [ids[needed] for needed in part.needs],
            }
            for name, part in self.parts.items()
        ]
        agents = [{"name": "Waiter", "system_prompt": "You wait."}]
        return parse_plan({"objective": self.name, "agents": agents, "steps": steps})


def waiting(seconds: float) -> str:
    """Write what the model of fixed latency reads."""
    return f"wait {seconds:g} s"


UNEVEN = Shape(
    "(5 → 5) next to 20",
    {"first": Part(5), "second": Part(5, ("first",)), "long": Part(20)},
)
SHAPES = (
    UNEVEN,
    Shape(
        "(2 → 6) and (6 → 2), joined by 1",
        {
            "short": Part(2),
            "long": Part(6),
            "then_long": Part(6, ("short",)),
            "then_short": Part(2, ("long",)),
            "join": Part(1, ("then_long", "then_short")),
        },
    ),
    Shape(
        "1, then (1 → 5), (2 → 4), (3 → 3) and (6 → 1), joined by 1",
        {
            "scout": Part(1),
            **{f"read_{n}": Part(n, ("scout",)) for n in (1, 2, 3, 6)},
            "check_1": Part(5, ("read_1",)),
            "check_2": Part(4, ("read_2",)),
            "check_3": Part(3, ("read_3",)),
            "check_6": Part(1, ("read_6",)),
            "join": Part(1, ("check_1", "check_2", "check_3", "check_6")),
        },
    ),
    Shape(
        "(1 → 2 → 2) next to 6, joined by 1",
        {
            "fetch": Part(1),
            "survey": Part(6),
            "parse": Part(2, ("fetch",)),
            "index": Part(2, ("parse",)),
            "report": Part(1, ("index", "survey")),
        },
    ),
)
