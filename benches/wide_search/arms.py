"""The arms: who fills the table, and one run of it through the whole runtime."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prefect_swarm.flows.control import RunControl, controlled, override_toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from .corpus import OPEN_S, SEARCH_S, Corpus
from .flaws import Flaws
from .plans import READER, Style
from .player import SLOTS, Meter, Player
from .questions import Question
from .reader import Reader
from .scoring import Score, read_table, score_table
from .virtual_time import VirtualClock

__all__ = ["ARMS", "SLOTS", "Arm", "Taken", "corpus_tools", "take"]

_NOTE_S = 0.1
_CALLS = 2_000


@dataclass(frozen=True, slots=True)
class Arm:
    """Who fills the table.

    Attributes:
        style: How the orchestrator plans; None for one agent, whose plan of one step is given.
        table: Whether the agent has a table to note rows in.
        calls: The most calls that one answer of a subagent makes.
        memory: Whether the run has a memory.
    """

    name: str
    style: Style | None = None
    table: bool = False
    calls: int = 1
    memory: bool = False


ARMS = (
    Arm("one agent"),
    Arm("one agent, 8 calls an answer", calls=8),
    Arm("one agent with a scratch table", table=True),
    Arm("serial plan", "serial"),
    Arm("fixed plan", "fixed"),
    Arm("fixed plan with waves", "waves"),
    Arm("for each", "for_each"),
    Arm("for each, 8 calls an answer", "for_each", calls=8),
    Arm("turns", "turns"),
    Arm("turns and a warm memory", "turns", memory=True),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run came to."""

    score: Score
    seconds: float
    usd: float
    tokens: int
    requests: int


async def take(
    arm: Arm,
    question: Question,
    corpus: Corpus,
    flaws: Flaws,
    clock: VirtualClock,
    namespace: str = "default",
) -> Taken:
    """Have a question answered by an arm, and score the answer."""
    times: dict[str, float] = {}

    def handle(event: RunEvent) -> None:
        times[event.kind] = event.at

    player = Player(clock, Reader(flaws, arm.calls), arm.style, question.text)
    model = FunctionModel(player)
    options = SwarmOptions(
        memory=arm.memory,
        namespace=namespace,
        pages=False,
        stream_plan=False,
        max_concurrency=SLOTS,
        turns=6 if arm.style == "turns" else 1,
        tool_limits=ToolLimits(calls=_CALLS, at_once=SLOTS),
    )
    models = override_models(worker=model, coder=model, architect=model, orchestrator=model)
    tools = override_toolsets(corpus=corpus_tools(corpus, clock, table=arm.table))
    with models, tools, controlled(RunControl(listener=handle)):
        plan = None if arm.style else _one_step(question)
        result = await swarm(question.text, plan=plan, options=options)
    meter: Meter = player.meter
    return Taken(
        score_table(read_table(result.answer or ""), question.rows, question.columns),
        times["finished"] - times["began"],
        meter.usd,
        meter.read + meter.cached + meter.written,
        meter.requests,
    )


def _one_step(question: Question) -> TaskIR:
    schema = {"type": "array", "items": {"type": "object", "required": ["name"]}}
    step = {
        "id": "S1",
        "agent": READER["name"],
        "prompt": question.text,
        "output": {"kind": "json", "schema": schema},
    }
    return parse_plan({"objective": question.text, "agents": [READER], "steps": [step]})


def corpus_tools(corpus: Corpus, clock: VirtualClock, *, table: bool) -> FunctionToolset[None]:
    """Return the tools of a corpus, and with `table` those of a table to note rows in."""
    tools = FunctionToolset[None]()
    rows: dict[str, Mapping[str, Any]] = {}

    async def search(query: str) -> str:
        """Search the corpus, and return the titles of the pages that fit best."""
        await clock.sleep(SEARCH_S, query)
        return corpus.search(query)

    async def open(page: str) -> str:  # noqa: A001 - the name that the model calls it by
        """Open a page by its id, such as p0012."""
        await clock.sleep(OPEN_S, page)
        return corpus.open(page)

    async def note_rows(rows_: list[dict[str, str]]) -> str:
        """Write rows into the table."""
        await clock.sleep(_NOTE_S, json.dumps(rows_))
        rows.update({row["name"]: row for row in rows_})
        return f"The table has {len(rows)} rows."

    async def read_rows() -> str:
        """Read the whole table."""
        await clock.sleep(_NOTE_S, "read_rows")
        return json.dumps([*rows.values()], ensure_ascii=False)

    tools.add_function(search)
    tools.add_function(open)
    if table:
        tools.add_function(note_rows)
        tools.add_function(read_rows)
    return tools
