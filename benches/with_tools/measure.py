"""A table from many documents: a swarm of readers beside one, through a real Prefect server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.step import StepState
from prefect_swarm.tasks.subagent.request import tokens_of
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from with_tools.clock import Turn, virtual_seconds
from with_tools.reader import Reader, table_in, table_lines
from with_tools.world import ATTRIBUTES, World, make_world

__all__ = ["SEEDS", "Case", "joined", "measure", "plan_of", "right_cells"]

SEEDS = (1, 2, 3)
PAGE_S = 2.0
ANSWER_S, WRITTEN_S = 1.0, 0.02
"""Seconds of an answer, and of each token that it writes."""
CONTEXT = 32_000
AT_ONCE = (4, 10)


@dataclass(frozen=True, slots=True)
class Case:
    """Who fills the table: so many agents, and what each can do."""

    name: str
    agents: int
    reader: Reader


CASES = (
    Case("one agent, forgets nothing", 1, Reader()),
    Case("one agent", 1, Reader(CONTEXT)),
    Case("one agent, repeats its table", 1, Reader(CONTEXT, keeps_table=True)),
    Case("swarm, 4 agents of 10", 4, Reader(CONTEXT)),
    Case("swarm, 10 agents of 4", 10, Reader(CONTEXT)),
    Case("swarm, 10 agents of 4, forget nothing", 10, Reader()),
    Case("swarm, 40 agents of 1", 40, Reader(CONTEXT)),
)


async def measure() -> str:
    """Fill each world's table in each way, and return the lines of the table of figures."""
    taken: dict[str, list[tuple[float, ...]]] = {case.name: [] for case in CASES}
    for seed in SEEDS:
        world = make_world(seed)
        with TemporaryDirectory(prefix="prefect-swarm-works-") as folder:
            world.write(Path(folder))
            for case in CASES:
                taken[case.name].append(await _taken(case, world, folder))
                print(seed, case.name, taken[case.name][-1], file=sys.stderr)
    return "\n".join(_line(name, rows) for name, rows in taken.items())


def _line(name: str, rows: Sequence[tuple[float, ...]]) -> str:
    right, requests, pages, tokens, *seconds = (
        sum(column) / len(rows) for column in zip(*rows, strict=True)
    )
    times = " | ".join(f"{s:,.0f} s" for s in seconds)
    return f"| {name} | {right:.1f} | {requests:.0f} | {pages:.0f} | {tokens:,.0f} | {times} |"


async def _taken(case: Case, world: World, folder: str) -> tuple[float, ...]:
    """Return right cells, requests, pages, tokens, and seconds for each bound of pages at once."""
    plan = plan_of(world.entities, case.agents)
    reader, join = FunctionModel(case.reader), FunctionModel(joined)
    options = SwarmOptions(
        documents=(folder,),
        tool_limits={"calls": 1_000},  # pyright: ignore[reportArgumentType] - read as its fields
        max_concurrency=case.agents,
        memory=False,
        gates={"text": ()},
    )
    with override_models(worker=reader, coder=join, architect=join, orchestrator=join):
        result = await swarm(plan.objective, plan=plan, options=options)
    assert result.status == "completed", result.problem
    pages = sum(len(attempt.calls) for step in result.steps for attempt in step.attempts)
    times = (_seconds(result, at_once) for at_once in AT_ONCE)
    cost = result.cost
    return right_cells(result.answer, world), cost.calls, pages, cost.tokens, *times


def plan_of(entities: Sequence[str], agents: int) -> TaskIR:
    """Return the plan: readers with an even share of the entities each, and one who joins."""
    names = ", ".join(ATTRIBUTES)
    each = -(-len(entities) // agents)
    shares = [entities[n : n + each] for n in range(0, len(entities), each)]
    readers: list[dict[str, Any]] = [
        {
            "id": f"S{n}",
            "agent": "Reader",
            "prompt": f"Find {names} of these works in the reports:\n"
            + "\n".join(f"- {entity}" for entity in share),
        }
        for n, share in enumerate(shares, 1)
    ]
    join = {
        "id": f"S{len(readers) + 1}",
        "agent": "Clerk",
        "prompt": "Join the tables.",
        "depends_on": [step["id"] for step in readers],
    }
    clerk = {"name": "Clerk", "system_prompt": "You join tables.", "tier": "coder"}
    reader = {"name": "Reader", "system_prompt": "You look things up.", "tools": ["documents"]}
    return parse_plan(
        {
            "objective": f"A table of {len(entities)} works",
            "agents": [reader, clerk] if agents > 1 else [reader],
            "steps": [*readers, join] if agents > 1 else readers,
        }
    )


def joined(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Join the tables that a prompt has into one: the clerk, who has no tools."""
    prompt = "\n".join(str(getattr(part, "content", "")) for part in messages[0].parts)
    table = table_in([prompt])
    text = table_lines(table, table)
    read = tokens_of(prompt + (info.instructions or ""))
    return ModelResponse(
        [TextPart(text)], usage=RequestUsage(input_tokens=read, output_tokens=tokens_of(text))
    )


def right_cells(answer: str, world: World) -> int:
    """Count the cells of the world's table that an answer has right."""
    rows = dict(re.findall(r"^(.+? \| \w+) \| (\d+) \| \d+$", answer, re.MULTILINE))
    return sum(rows.get(" | ".join(cell)) == value for cell, value in world.cells.items())


def _seconds(result: SwarmResult, at_once: int) -> float:
    """Return how long the run takes under the virtual clock: the readers, and then the join."""
    readers = [_turns(result, step) for step in result.steps if step.agent == "Reader"]
    others = [_turns(result, step) for step in result.steps if step.agent != "Reader"]
    return virtual_seconds(readers, at_once) + virtual_seconds(others, at_once)


def _turns(result: SwarmResult, step: StepState) -> list[Turn]:
    """Return the answers of a step, as its transcript has them, and their pages."""
    text = RunFolder.of(result.flow_run_id).read(f"transcripts/{step.id}.1.json") or "[]"
    answers = [message for message in json.loads(text) if message["kind"] == "response"]
    return [
        Turn(
            ANSWER_S + WRITTEN_S * answer["usage"]["output_tokens"],
            PAGE_S if any(part["part_kind"] == "tool-call" for part in answer["parts"]) else 0.0,
        )
        for answer in answers
    ]
