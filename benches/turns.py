"""Find, then spread: by one agent, a fixed plan, for each, and an orchestrator in turns."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from threading import Event, Lock
from typing import Any

from own_prefect import run_with_prefect
from prefect_swarm.flows.control import RunControl, controlled, override_toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import EndedEvent, RunEvent, TurnEvent
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.toolsets import FunctionToolset

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from provider_server import Asked, Reply, provider_server

__all__ = ["run"]

SIZES = (5, 20, 80)
SOURCES = ("north", "east", "south", "west")
SLOTS, SEED, SIGMA, MEAN_S, TURN_S = 16, 20_261_126, 0.9, 0.8, 0.4
GUESSED = 5
GOAL, GOAL_MS = 0.85, 50.0
STEPS, ASKED = 100, 10
HEAD = f"""\
## Turns

What does it bring that the orchestrator goes on directing? {len(SOURCES)} places hold things that
nobody knows beforehand; each thing has to be counted, and the counts added up. A real HTTP server
stands in for all models: it takes log-normal seconds for a place and for a thing (mean
{MEAN_S:g} s, σ = {SIGMA:g}, the same for every way), {TURN_S:g} s for a turn of the orchestrator,
{SLOTS} requests at once. The fixed plan counts {GUESSED} things that it expects at each place.
*Turns* has its next turn as soon as the next place has been searched; *with a barrier* when all
that it assigned is over. Found is the share of the things whose count is in the answer.

"""

_AGENTS = [
    {"name": "Finder", "system_prompt": "You search a place."},
    {"name": "Counter", "system_prompt": "You count one thing."},
]


@dataclass
class World:
    """The places and their things, and a server's model that knows them.

    Attributes:
        tokens: What all requests have read and written, four characters each.
        barrier: Whether the orchestrator waits for all that it assigned.
    """

    size: int
    barrier: bool = False
    tokens: float = 0.0
    requests: int = 0
    _assigned: set[str] = field(default_factory=set[str])
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        random = Random(SEED)
        names = [
            f"{SOURCES[n % len(SOURCES)]}-{n // len(SOURCES) + 1:02}" for n in range(self.size)
        ]
        self.counts = {name: random.randint(2, 99) for name in names}
        scale = MEAN_S / 2.718281828 ** (SIGMA**2 / 2)
        self.seconds = {
            name: scale * random.lognormvariate(0, SIGMA) for name in (*SOURCES, *names)
        }

    def within(self, place: str) -> list[str]:
        """Return the things of a place."""
        return [name for name in self.counts if name.startswith(place)]

    def __call__(self, asked: Asked) -> Reply:
        """Answer a request after its time, and count what it reads and writes."""
        reply = self._reply(asked)
        written = reply.text or json.dumps(reply.tool_args)
        with self._lock:
            self.requests += 1
            self.tokens += (len("".join(asked.texts)) + len(written)) / 4
        return reply

    def _reply(self, asked: Asked) -> Reply:
        said, whole = asked.prompt, "\n".join(asked.texts)
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            time.sleep(TURN_S)
            return Reply(tool_args=self._plan())
        if re.search(r"^Turn \d+\.", said, re.MULTILINE):
            time.sleep(TURN_S)
            return Reply(self._turn(said, whole))
        if "by looking at one after the other" in whole:
            return self._look(asked)
        if found := re.findall(r"^List what is in (\w+)\.", said, re.MULTILINE):
            time.sleep(self.seconds[found[-1]])
            return Reply(json.dumps({"things": self.within(found[-1])}))
        if found := re.findall(r"^Count “?([a-z]+-\d+)”?\.", said, re.MULTILINE):
            time.sleep(self.seconds.get(found[-1], MEAN_S))
            return Reply(f"{found[-1]}: {self.counts.get(found[-1], 0)}")
        time.sleep(TURN_S)
        return Reply(self._sum(whole))

    def _plan(self) -> dict[str, Any]:
        tasks = [_find(place) for place in SOURCES]
        look_after = list(range(1, len(SOURCES) + 1)) if self.barrier else [1]
        return {"create_subagent": _AGENTS, "assign_task": tasks, "look_after": look_after}

    def _turn(self, said: str, whole: str) -> str:
        """Assign what was found and isn't assigned; answer when nothing is left to do."""
        fresh = [name for name in self._named(whole) if name not in self._assigned]
        if "Nothing is left to do" in said and not fresh:
            return self._sum(whole)
        self._assigned.update(fresh)
        searched = {name for name in SOURCES if any(n.startswith(name) for n in self._assigned)}
        left = [number for number, name in enumerate(SOURCES, 1) if name not in searched]
        turn: dict[str, Any] = {"assign_task": [_count(name) for name in fresh]}
        if left and not self.barrier:
            turn["look_after"] = left[:1]
        return json.dumps(turn)

    def _named(self, text: str) -> list[str]:
        lists = re.findall(r'\{"things": (\[.*?\])\}', text)
        return list(dict.fromkeys(name for each in lists for name in json.loads(each)))

    def _look(self, asked: Asked) -> Reply:
        looked = [m for m in asked.body["messages"] if m.get("role") == "tool"]
        todo = [*SOURCES, *self.counts]
        if len(looked) < len(todo):
            name = todo[len(looked)]
            time.sleep(self.seconds[name])
            return Reply(tool_name="look", tool_args={"name": name})
        return Reply(self._sum("\n".join(asked.texts)))

    def _sum(self, text: str) -> str:
        found = dict(re.findall(r"\b([a-z]+-\d+): (\d+)", text))
        known = {name for name, count in found.items() if int(count) == self.counts.get(name)}
        return f"{len(known)} counted, {sum(map(int, found.values()))} in all."


def _find(place: str) -> dict[str, Any]:
    return {
        "agent": "Finder",
        "prompt": f"List what is in {place}.",
        "depends_on": [],
        "output": {"kind": "json"},
    }


def _count(name: str) -> dict[str, Any]:
    return {"agent": "Counter", "prompt": f"Count {name}.", "depends_on": []}


def _last(number: int, needs: list[str]) -> dict[str, Any]:
    return {"id": f"S{number}", "agent": "Counter", "prompt": "Add up.", "depends_on": needs}


def _steps(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**task, "id": f"S{number}"} for number, task in enumerate(tasks, 1)]


def _parsed(steps: list[dict[str, Any]]) -> TaskIR:
    data = {"objective": OBJECTIVE, "agents": _AGENTS, "steps": steps}
    return parse_plan({**data, "final_step": steps[-1]["id"]})


OBJECTIVE = "Count all things at each of the four places, and add the counts up"


def fixed_plan() -> TaskIR:
    """Return the plan of somebody who expects so many things at each place."""
    names = [f"{place}-{n:02}" for n in range(1, GUESSED + 1) for place in SOURCES]
    tasks = _steps(_count(name) for name in names)
    needs = [task["id"] for task in tasks]
    last = {
        "id": f"S{len(tasks) + 1}",
        "agent": "Counter",
        "prompt": "Add up.",
        "depends_on": needs,
    }
    return _parsed([*tasks, last])


def spread_plan() -> TaskIR:
    """Return the plan that counts each thing that a place has, as soon as that is searched."""
    finds = _steps(_find(place) for place in SOURCES)
    spreads: list[dict[str, Any]] = [
        {
            "id": f"S{number + len(SOURCES)}",
            "agent": "Counter",
            "prompt": "Count {item}.",
            "for_each": {"items": f"S{number}", "at": "/things"},
        }
        for number in range(1, len(SOURCES) + 1)
    ]
    needs = [each["id"] for each in spreads]
    return _parsed([*finds, *spreads, _last(2 * len(SOURCES) + 1, needs)])


def one_agent_plan() -> TaskIR:
    """Return the plan of a single agent, with a tool."""
    agent: dict[str, Any] = {
        "name": "Walker",
        "system_prompt": "You look for yourself.",
        "tools": ["walk"],
    }
    prompt = "Count all things by looking at one after the other, and add the counts up."
    steps = [{"id": "S1", "agent": "Walker", "prompt": prompt}]
    return parse_plan({"objective": OBJECTIVE, "agents": [agent], "steps": steps})


@dataclass(frozen=True, slots=True)
class Measured:
    """What a way came to."""

    found: float
    critical_steps: int
    seconds: float
    requests: int
    tokens: float


async def _measured(world: World, plan: TaskIR | None, turns: int = 1) -> Measured:
    times: dict[str, float] = {}

    def handle(event: RunEvent) -> None:
        times[event.kind] = time.perf_counter()

    walk = FunctionToolset[None]()

    def look(name: str) -> str:
        """Look at a place, or at a thing."""
        if name in SOURCES:
            return json.dumps({"things": world.within(name)})
        return f"{name}: {world.counts[name]}"

    walk.add_function(look)
    with provider_server(world, models=("strong-model",)) as server:
        options = SwarmOptions(
            model=server.name(),
            memory=False,
            turns=turns,
            max_concurrency=SLOTS,
            tool_limits=ToolLimits(calls=200),
        )
        with override_toolsets(walk=walk), controlled(RunControl(listener=handle)):
            result = await swarm(OBJECTIVE, plan=plan, options=options)
    assert result.status == "completed", result.problem
    return Measured(
        _found(result) / world.size,
        result.parl.critical_steps if result.parl else 0,
        times["finished"] - times["began"],
        world.requests,
        world.tokens,
    )


def _found(result: SwarmResult) -> int:
    number = re.match(r"(\d+) counted", result.answer)
    return int(number[1]) if number else 0


async def _turn_overhead() -> float:
    """Return the milliseconds from the end of what is looked after to the plan that goes on.

    It is the median of several turns. The model takes no time, but for one step that goes on.
    """
    release = Event()
    ends: dict[str, float] = {}
    spent: list[float] = []

    def handle(event: RunEvent) -> None:
        if isinstance(event, EndedEvent) and event.kind == "succeeded":
            ends[event.step] = time.perf_counter()
        if isinstance(event, TurnEvent) and event.steps:
            spent.append(time.perf_counter() - ends[f"S{STEPS + event.number_of_turn - 2}"])

    def reply(asked: Asked) -> Reply:
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            tasks = [_count(f"north-{number:03}") for number in range(1, STEPS + 1)]
            agents = {"create_subagent": _AGENTS, "assign_task": tasks}
            return Reply(tool_args={**agents, "look_after": [STEPS]})
        if turn := re.search(r"^Turn (\d+)\.", asked.prompt, re.MULTILINE):
            number = int(turn[1])
            if "Nothing is left" in asked.prompt or number > ASKED:
                release.set()
                return Reply('{"finish": {"answer": "Done."}}')
            task = _count(f"east-{number:03}")
            return Reply(json.dumps({"assign_task": [task], "look_after": [STEPS + number - 1]}))
        return Reply("Done.", hold=release if "north-001" in asked.prompt else None)

    with provider_server(reply, models=("strong-model",)) as server:
        options = SwarmOptions(model=server.name(), memory=False, turns=15)
        with controlled(RunControl(listener=handle)):
            await swarm(OBJECTIVE, options=options)
    return 1000 * median(spent)


def run() -> str:
    """Measure next to a server of our own and return the tables."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    await _measured(World(5), spread_plan())
    ways: dict[str, Callable[[World], tuple[TaskIR | None, int]]] = {
        "one agent": lambda _: (one_agent_plan(), 1),
        "fixed plan": lambda _: (fixed_plan(), 1),
        "for each": lambda _: (spread_plan(), 1),
        "turns": lambda _: (None, 15),
        "turns with a barrier": lambda _: (None, 15),
    }
    rows: list[str] = []
    ratios: list[str] = []
    for size in SIZES:
        done: dict[str, Measured] = {}
        for name, way in ways.items():
            world = World(size, barrier=name.endswith("barrier"))
            done[name] = each = await _measured(world, *way(world))
            rows.append(
                f"| {size} | {name} | {each.found:.0%} | {each.critical_steps} "
                f"| {each.seconds:.1f} s | {each.requests} | {each.tokens:,.0f} |"
            )
        ratio = done["turns"].seconds / done["turns with a barrier"].seconds
        ratios.append(f"{ratio:.2f}" if ratio <= GOAL else f"**{ratio:.2f}**")
    overhead = await _turn_overhead()
    shown = f"{overhead:.0f}" if overhead <= GOAL_MS else f"**{overhead:.0f}**"
    return "\n".join(
        [
            f"{HEAD}| Things | Way | Found | Critical steps | Makespan | Requests | Tokens |",
            "|---:|---|---:|---:|---:|---:|---:|",
            *rows,
            "",
            f"Turns ÷ turns with a barrier: {', '.join(ratios)} for {', '.join(map(str, SIZES))} "
            f"things (goal: {GOAL:g} at most). Overhead of a turn in a plan of {STEPS} steps, with "
            f"a model that takes no time: {shown} ms from the end of what it looks after to the "
            f"plan that goes on, in the median of {ASKED - 1} turns (goal: {GOAL_MS:g} ms at most)."
            " Tokens are counted as four characters each.",
        ]
    )


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
