"""The same plans through the whole runtime: Prefect, gates, stores, in the bench's virtual time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from prefect_swarm.flows.control import override_toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.parl.rollout import Rollout, read_plan
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from wide_search.arms import corpus_tools
from wide_search.corpus import Corpus
from wide_search.flaws import Flaws
from wide_search.player import SLOTS, Player
from wide_search.questions import Question
from wide_search.reader import Reader
from wide_search.reading import lists_in
from wide_search.scoring import read_table, score_table
from wide_search.virtual_time import VirtualClock

from .frozen import merged_rows

__all__ = ["run_whole"]


@dataclass(frozen=True, slots=True)
class _Orchestrator:
    """Reads as a subagent, and writes the answer from what all steps have written."""

    player: Player

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.function_tools:
            return await self.player(messages, info)
        return ModelResponse([TextPart(json.dumps(merged_rows(lists_in(_said(messages)))))])


def _said(messages: Sequence[ModelMessage]) -> str:
    parts = [part for message in messages for part in message.parts]
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


async def run_whole(
    question: Question,
    text: str,
    corpus: Corpus,
    flaws: Flaws,
    clock: VirtualClock,
    *,
    memory: bool = False,
) -> Rollout:
    """Run a plan in lines as a Prefect flow, and return the terms of it.

    The plan is given, so no request is counted for it. Widths and seconds are not looked at.
    """
    plan = read_plan(text, question.text)
    assert plan is not None
    agents = tuple(each.model_copy(update={"tools": ("corpus",)}) for each in plan.agents)
    player = Player(clock, Reader(flaws), None, question.text)
    model = FunctionModel(_Orchestrator(player))
    options = SwarmOptions(
        memory=memory,
        pages=False,
        stream_plan=False,
        max_concurrency=SLOTS,
        tool_limits=ToolLimits(calls=2_000, at_once=SLOTS),
    )
    models = override_models(worker=model, coder=model, architect=model, orchestrator=model)
    with models, override_toolsets(corpus=corpus_tools(corpus, clock, table=False)):
        given = plan.model_copy(update={"agents": agents})
        result = await swarm(question.text, plan=given, options=options)
    figures = result.parl
    assert figures is not None
    score = score_table(read_table(result.answer or ""), question.rows, question.columns)
    return Rollout(
        r_perf=score.item_f1,
        r_parallel=figures.r_parallel,
        r_finish=figures.r_finish,
        critical_steps=figures.critical_steps,
        steps=len(plan.steps),
        requests=player.meter.requests,
    )
