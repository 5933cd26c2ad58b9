"""The flow over models that take a fixed time: what is left of a makespan is the flow's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time

from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import OutputKind, TaskIR, parse_plan
from prefect_swarm.store.events import EndedEvent, RunEvent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from shapes import waiting

__all__ = ["Taken", "answer_after_waiting", "independent", "run_plan"]

_WAIT = re.compile(waiting(0).replace("0", r"(\d+(?:\.\d+)?)"))


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run took.

    Attributes:
        inside: Seconds from the flow's first line to its last.
        cpu: Seconds of this process's CPU, the start and the end of the flow run included.
        ends: When each step's attempt was over, in seconds from the flow's first line.
    """

    inside: float
    cpu: float
    ends: Mapping[str, float] = field(default_factory=dict[str, float])


async def run_plan(
    plan: TaskIR, slots: int, *, gates: bool = True, pages: bool = True, notices: bool = True
) -> Taken:
    """Run a plan and check that it succeeded.

    Args:
        gates: Whether each step has the gates of its output, as a user's has: for a text, a task
            run of its own.
        pages: Whether the run has pages in the Prefect UI.
        notices: Whether the Prefect server gets events of the run.
    """
    times: dict[str, float] = {}
    ends: dict[str, float] = {}

    def handle(event: RunEvent) -> None:
        times[event.kind] = perf_counter()
        if isinstance(event, EndedEvent):
            ends[event.step] = perf_counter() - times["began"]

    options = _options(slots, gates, pages).model_copy(update={"notices": notices})
    cpu = process_time()
    with _fixed_latency(), controlled(RunControl(listener=handle)):
        result = await swarm(plan.objective, plan=plan, options=options)
    assert result.status == "completed", result.problem
    return Taken(times["finished"] - times["began"], process_time() - cpu, ends)


def _options(slots: int, gates: bool, pages: bool) -> SwarmOptions:
    without: dict[OutputKind, tuple[str, ...]] = {} if gates else {"text": ()}
    return SwarmOptions(max_concurrency=slots, gates=without, pages=pages)


def independent(count: int, seconds: float) -> TaskIR:
    """Return a plan of so many steps, none of which needs another."""
    agents = [{"name": "Item Worker", "system_prompt": "You do one item of a larger job."}]
    steps = [
        {"id": f"S{n}", "agent": "Item Worker", "prompt": f"{n}: {waiting(seconds)}"}
        for n in range(1, count + 1)
    ]
    return parse_plan({"objective": f"Do {count} items", "agents": agents, "steps": steps})


@contextmanager
def _fixed_latency() -> Generator[None]:
    worker, orchestrator = FunctionModel(answer_after_waiting), FunctionModel(_answer)
    with override_models(worker=worker, coder=worker, architect=worker, orchestrator=orchestrator):
        yield


async def answer_after_waiting(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer after as many seconds as the prompt says last."""
    seconds = float(_WAIT.findall(_prompt(messages))[-1])
    if seconds:
        await asyncio.sleep(seconds)
    return await _answer(messages, info)


async def _answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("Done.")])


def _prompt(messages: list[ModelMessage]) -> str:
    request = messages[-1]
    assert isinstance(request, ModelRequest)
    return "\n".join(str(p.content) for p in request.parts if isinstance(p, UserPromptPart))
