"""Effect of showing a planner earlier plans, with a planner that is a script.

    python benches/memory/feeding.py [--runs 500]

A log in a temporary folder has so many synthetic runs of other things, and for each topic of
`similar.py` one run with a good plan. Each topic's other objective is then planned with the memory
and without. The planner does not think: it follows the first earlier plan that it is shown if that
was completed, step by step, and else writes the parts as a chain, each needing the one before.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from prefect_swarm.flows.memory import gather_facts
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.store import Place, Store
from prefect_swarm.models.names import price_of_name
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.facts import PlanningFacts
from prefect_swarm.tasks.planner.facts_text import FactsText, facts_text
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.tasks.subagent.request import tokens_of
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from recall import prompt
from similar import TOPICS, Topic

__all__ = ["Fed", "measure", "planned", "table"]

RUNS = 500
_STEP = re.compile(r"^  S\d+ “[^”]*”: “([^”]*)”(?: <- ((?:S\d+(?:, )?)+))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fed:
    """One objective, planned without the memory (`chain`) and with it (`fed`).

    Attributes:
        chain, fed: Steps on the plan's longest path: its makespan where all take equally long.
        right: Whether the first earlier plan that was shown is that of the same topic.
        bare_tokens, tokens: Estimated tokens added without and with the memory.
        bare_s, seconds: Seconds before the planner was asked.
    """

    chain: int
    fed: int
    right: bool
    bare_tokens: int
    tokens: int
    bare_s: float
    seconds: float


def measure(runs: int = RUNS) -> list[Fed]:
    """Measure every topic."""
    with tempfile.TemporaryDirectory(prefix="feeding-") as folder:
        store = Store(Place(Path(folder) / "memory"))
        price_of_name("openai:gpt-4o-mini")  # The table of prices is read once a process.
        try:
            store.log.append(_remembered(runs))
            store.consolidate()
            store.similar("default", "warm", 1)  # The embedder is loaded once a process.
            return [asyncio.run(_measured(store, topic)) for topic in TOPICS]
        finally:
            store.close()


async def _measured(store: Store, topic: Topic) -> Fed:
    bare, bare_s = await _gathered(None, topic)
    full, seconds = await _gathered(store, topic)
    chain = await planned(topic, bare.text)
    fed = await planned(topic, full.text)
    return Fed(
        chain=_longest(chain),
        fed=_longest(fed),
        right=full.runs[:1] == (_name(topic),),
        bare_tokens=tokens_of(bare.text),
        tokens=tokens_of(full.text),
        bare_s=bare_s,
        seconds=seconds,
    )


async def _gathered(store: Store | None, topic: Topic) -> tuple[FactsText, float]:
    options = SwarmOptions(model="openai:gpt-4o-mini")
    began = time.perf_counter()
    with override_models(orchestrator=FunctionModel(lambda _, __: ModelResponse([]))):
        facts = await gather_facts(topic.now, options, price_of_name, store)
    text = facts_text(facts or PlanningFacts())
    return text, time.perf_counter() - began


async def planned(topic: Topic, facts: str) -> TaskIR:
    """Return what the scripted planner makes of a topic's objective and these facts."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown = "\n".join(str(getattr(part, "content", "")) for part in messages[0].parts)
        steps = _followed(shown) or _chain(topic)
        agents = [{"name": "Worker", "system_prompt": "You work."}]
        plan = {"create_subagent": agents, "assign_task": steps}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, plan)])

    planner = StructuredPlanner(FunctionModel(answer))
    return (await planner.plan(topic.now, PlanContext(facts=facts))).plan


def _followed(shown: str) -> list[dict[str, Any]]:
    first = shown.partition("\n- Objective ")[2].partition("\n- Objective ")[0]
    if ": completed, " not in first.partition("\n")[0]:
        return []
    return [
        _step(asked, [int(number) for number in re.findall(r"\d+", needs)])
        for asked, needs in _STEP.findall(first)
    ]


def _chain(topic: Topic) -> list[dict[str, Any]]:
    asked = [*topic.parts, *([topic.join] if topic.join else [])]
    return [_step(text, [number] if number else []) for number, text in enumerate(asked)]


def _step(asked: str, needs: list[int]) -> dict[str, Any]:
    return {"agent": "Worker", "prompt": asked, "depends_on": needs}


def _longest(plan: TaskIR) -> int:
    return int(max(step.priority for step in compile_plan(plan).steps))


def _remembered(runs: int) -> Iterator[Episode]:
    dice = random.Random(1)
    for number in range(runs):
        objective = prompt(dice)
        for step in range(1, 5):
            asked = f"{objective}, part {step}"
            yield _episode(f"{number:032x}", objective, f"S{step}", asked, ())
    for topic in TOPICS:
        names = tuple(f"S{number + 1}" for number in range(len(topic.parts)))
        for name, part in zip(names, topic.parts, strict=True):
            yield _episode(_name(topic), topic.earlier, name, part, ())
        if topic.join:
            last = f"S{len(names) + 1}"
            yield _episode(_name(topic), topic.earlier, last, topic.join, names)


def _name(topic: Topic) -> str:
    return f"topic-{TOPICS.index(topic)}"


def _episode(run: str, objective: str, step: str, asked: str, needs: tuple[str, ...]) -> Episode:
    began = 10.0 if needs else 0.0
    return Episode(
        run=run,
        step=step,
        attempt=1,
        objective=objective,
        prompt=asked,
        persona="worker",
        tier="worker",
        model="scripted",
        succeeded=True,
        started_at=began,
        ended_at=began + 10.0,
        duration_s=10.0,
        reward=1.0,
        upstream=needs,
    )


def table(found: list[Fed]) -> str:
    """Write what was measured."""
    right = sum(each.right for each in found)
    ratio = median(each.fed / each.chain for each in found)
    rows = [
        ("objectives", str(len(found)), str(len(found))),
        ("shown the plan of the similar objective first", "0", str(right)),
        ("longest path, steps, all together", *_sums(found)),
        ("longest path, with ÷ without, median", "1.00", f"{ratio:.2f}"),
        ("tokens added to the request, estimated, median", *_tokens(found)),
        ("seconds before the planner is asked, median", *_seconds(found)),
        ("the most of them", *_most(found)),
    ]
    head = ["| | without memory | with |", "|---|--:|--:|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _sums(found: list[Fed]) -> tuple[str, str]:
    return str(sum(each.chain for each in found)), str(sum(each.fed for each in found))


def _tokens(found: list[Fed]) -> tuple[str, str]:
    bare, full = (each.bare_tokens for each in found), (each.tokens for each in found)
    return f"{median(bare):,.0f}", f"{median(full):,.0f}"


def _seconds(found: list[Fed]) -> tuple[str, str]:
    bare, full = (each.bare_s for each in found), (each.seconds for each in found)
    return f"{median(bare):.3f}", f"{median(full):.3f}"


def _most(found: list[Fed]) -> tuple[str, str]:
    bare, full = (each.bare_s for each in found), (each.seconds for each in found)
    return f"{max(bare):.3f}", f"{max(full):.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="synthetic runs of other things")
    print(table(measure(parser.parse_args().runs)))
