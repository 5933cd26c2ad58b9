"""Questions of ParallelQA: one agent that looks up one thing after another, and a plan."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any

from own_prefect import run_with_prefect
from prefect_swarm.flows.control import override_toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from published.records import read_records
from pydantic_ai.toolsets import FunctionToolset

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from provider_server import Asked, Reply, provider_server

__all__ = ["run"]

REQUEST_S, LOOKUP_S, AT_ONCE = 1.0, 0.5, 6
HEAD = f"""\
## Questions that others wrote: ParallelQA

What does a plan bring where an answer needs several lookups? ParallelQA (Kim et al., LLMCompiler,
2024; MIT) has 113 questions that compare two to six things. A real HTTP server stands in for the
models: it takes {REQUEST_S:g} s for a request, and it gives the published answer where the facts on
all things of the question are in what it reads, and none where one is missing. The lookup knows the
things that the questions name, and takes {LOOKUP_S:g} s. *One call a turn* is a ReAct loop; *all
calls at once* is an agent whose model asks for several lookups in one answer; the *plan* has a step
for each thing, which looks it up and writes down what it found, and a last one. The request that
writes the plan is counted. {AT_ONCE} questions are under way at a time. Seconds, requests and
tokens (four characters each) are means of a question. LLMCompiler's own report has up to 3.7 × less
latency and 6.7 × less cost than ReAct.

| Way | Right | Seconds | ÷ one call a turn | Requests | Lookups | Tokens |
|---|---:|---:|---:|---:|---:|---:|"""

THINGS = (
    *("Mariana Trench", "Puerto Rico Trench", "Sunda Trench", "South Sandwich Trench"),
    *("Peru-Chile Trench", "cheetah", "peregrine falcon", "greyhound", "gazelle", "ostrich"),
    *("Sahara Desert", "Kalahari Desert", "Sonoran Desert", "Arabian Desert", "Atacama Desert"),
    *("Yangtze River", "Mississippi River", "Volga River", "Mekong River", "Congo River"),
    *("Mount Everest", "Mount Kilimanjaro", "Aconcagua", "K2", "Mount Elbert"),
    *("Christ the Redeemer", "Statue of Unity", "Washington Monument", "Ushiku Daibutsu"),
    *("Motherland Calls", "Shanghai Tower", "Ostankino Tower", "Burj Khalifa", "Tokyo Skytree"),
    *("CN Tower", "Empire State Building", "Amazon Rainforest", "Congo Rainforest"),
    *("Australian Forest", "Borneo", "Black Forest", "Pacific Ocean", "Indian Ocean"),
    *("Atlantic Ocean", "Arctic Ocean", "Southern Ocean", "Vietnam", "Thailand", "Japan"),
    *("South Korea", "China", "Texas", "Florida", "California", "Michigan", "New Jersey"),
)
_WRITTEN = {
    "Conga River": "Congo River",
    "Congo Forest": "Congo Rainforest",
    "Faibutsu": "Daibutsu",
}


def things_of(question: str) -> tuple[str, ...]:
    """Return the things that a question names, in its order."""
    for written, meant in _WRITTEN.items():
        question = question.replace(written, meant)
    places = {name: at for name in THINGS if (at := question.casefold().find(name.casefold())) >= 0}
    return tuple(sorted(places, key=lambda name: places[name]))


def _fact(thing: str) -> str:
    return f"Fact {THINGS.index(thing):02}: all that is to be known about {thing}."


def _page(thing: str) -> str:
    """Return what a lookup finds: as long as the beginning of a page of an encyclopedia."""
    return f"{_fact(thing)} " + f"More is said of {thing}, which no question asks for. " * 20


@dataclass
class Model:
    """A model that a server answers as, and what it was asked.

    Attributes:
        question: The one that it works on.
        at_once: Whether its agent asks for all lookups in one answer.
    """

    question: str
    answer: str
    at_once: bool = False
    requests: int = 0
    tokens: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, asked: Asked) -> Reply:
        """Answer a request after its time, and count what it reads and writes."""
        time.sleep(REQUEST_S)
        reply, written = self._reply(asked)
        with self._lock:
            self.requests += 1
            self.tokens += (len("".join(asked.texts)) + len(written)) / 4
        return reply

    def _reply(self, asked: Asked) -> tuple[Reply, str]:
        whole = "\n".join(asked.texts)
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            plan = self._plan()
            return Reply(tool_args=plan), json.dumps(plan)
        if found := re.findall(r"Look up “?(.+?)”?\.$", asked.prompt, re.MULTILINE):
            return self._with_facts(found, whole, _fact(found[-1]))
        things = things_of(self.question)
        if asked.body.get("tools"):
            return self._with_facts(things, whole, self._answer(whole))
        return Reply(answer := self._answer(whole)), answer

    def _with_facts(self, things: Sequence[str], whole: str, text: str) -> tuple[Reply, str]:
        """Ask for a lookup of what is missing, or of all of it; else write a text."""
        missing = [thing for thing in things if _fact(thing) not in whole]
        if not missing:
            return Reply(text), text
        calls = [{"thing": thing} for thing in (missing if self.at_once else missing[:1])]
        if len(calls) == 1:
            return Reply(tool_name="lookup", tool_args=calls[0]), json.dumps(calls)
        return Reply(raw=_calls(calls)), json.dumps(calls)

    def _answer(self, whole: str) -> str:
        known = all(_fact(thing) in whole for thing in things_of(self.question))
        return f"Answer: {self.answer}" if known else "Answer: unknown, since a fact is missing."

    def _plan(self) -> dict[str, Any]:
        things = things_of(self.question)
        tasks: list[dict[str, Any]] = [
            {"agent": "Reader", "prompt": f"Look up {thing}.", "depends_on": []} for thing in things
        ]
        needs = [*range(1, len(tasks) + 1)]
        last = {"agent": "Judge", "prompt": self.question, "depends_on": needs}
        agents = [
            {"name": "Reader", "system_prompt": "You look things up.", "tools": ["facts"]},
            {"name": "Judge", "system_prompt": "You compare things."},
        ]
        return {"create_subagent": agents, "assign_task": [*tasks, last]}


def _calls(calls: Sequence[dict[str, str]]) -> bytes:
    """Return the body of an answer that asks for several lookups."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "lookup", "arguments": json.dumps(arguments)},
        }
        for number, arguments in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "strong-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }
    return json.dumps(body).encode()


def one_agent_plan(question: str) -> TaskIR:
    """Return the plan of a single agent that looks everything up itself."""
    agent: dict[str, Any] = {
        "name": "Reader",
        "system_prompt": "You look things up and compare them.",
        "tools": ["facts"],
    }
    steps = [{"id": "S1", "agent": "Reader", "prompt": question}]
    return parse_plan({"objective": question, "agents": [agent], "steps": steps})


@dataclass(frozen=True, slots=True)
class Measured:
    """What a question came to in one way."""

    right: bool
    seconds: float
    requests: int
    lookups: int
    tokens: float


async def _measured(record: dict[str, Any], way: str) -> Measured:
    question, gold = record["question"], str(record["answer"])
    model = Model(question, gold, at_once=way == AT_ONCE_WAY)
    lookups: list[str] = []

    async def lookup(thing: str) -> str:
        """Say what is known about a thing."""
        lookups.append(thing)
        await asyncio.sleep(LOOKUP_S)
        return _page(thing)

    facts = FunctionToolset[None]()
    facts.add_function(lookup)
    with provider_server(model, models=("strong-model",)) as server:
        options = SwarmOptions(model=server.name(), memory=False, pages=False)
        with override_toolsets(facts=facts):
            plan = None if way == PLAN_WAY else one_agent_plan(question)
            result = await swarm(question, plan=plan, options=options)
    seconds = result.metrics.makespan_s or 0.0
    right = result.answer.strip() == f"Answer: {gold}"
    return Measured(right, seconds, model.requests, len(lookups), model.tokens)


REACT_WAY, AT_ONCE_WAY, PLAN_WAY = "one agent, one call a turn", "one agent, all at once", "plan"
WAYS = (REACT_WAY, AT_ONCE_WAY, PLAN_WAY)


def run() -> str:
    """Measure next to a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    records = read_records("parallelqa")
    await _measured(records[0], PLAN_WAY)
    found: dict[str, list[Measured]] = {}
    for way in WAYS:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(
            record: dict[str, Any], way: str = way, room: asyncio.Semaphore = room
        ) -> Measured:
            async with room:
                return await _measured(record, way)

        found[way] = await asyncio.gather(*map(one, records))
    return "\n".join([HEAD, *(_row(way, found) for way in WAYS), "", _by_things(records, found)])


def _row(way: str, found: dict[str, list[Measured]]) -> str:
    each = found[way]
    ratio = _mean(one.seconds for one in each) / _mean(one.seconds for one in found[REACT_WAY])
    return (
        f"| {way} | {sum(one.right for one in each)} of {len(each)} "
        f"| {_mean(one.seconds for one in each):.1f} | {ratio:.2f} "
        f"| {_mean(one.requests for one in each):.1f} | {_mean(one.lookups for one in each):.1f} "
        f"| {_mean(one.tokens for one in each):,.0f} |"
    )


def _by_things(records: Sequence[dict[str, Any]], found: dict[str, list[Measured]]) -> str:
    """Say how the plan compares by the number of things in a question."""
    ratios: dict[int, list[float]] = {}
    for record, ours, react in zip(records, found[PLAN_WAY], found[REACT_WAY], strict=True):
        count = len(things_of(record["question"]))
        ratios.setdefault(count, []).append(ours.seconds / react.seconds)
    said = ", ".join(f"{median(ratios[n]):.2f} with {n}" for n in sorted(ratios))
    return f"Seconds of the plan ÷ one call a turn, median by the things of a question: {said}."


def _mean(values: Any) -> float:
    figures = [*values]
    return sum(figures) / len(figures)


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
