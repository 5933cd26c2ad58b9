"""The run that is killed: twelve steps, four of which fail at first, and an answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from prefect_swarm.flows.options import SwarmOptions, TierOptions
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

__all__ = ["ANSWER", "OPTIONS", "PLAN", "answering"]

ANSWER = "answer"
OPTIONS = SwarmOptions(
    model="test", tiers={"worker": TierOptions(concurrency=4)}, max_tokens=1_000_000, memory=False
)
_NEEDS = {4: (1, 2), 5: (2, 3), 6: (4,), 7: (4, 5), 8: (1,), 9: (6, 7), 10: (8,), 11: (3, 8, 10)}
_FAIL_FIRST = frozenset({2, 5, 7, 10})


def _step(n: int) -> dict[str, Any]:
    fails = n in _FAIL_FIRST
    step: dict[str, Any] = {
        "id": f"S{n}",
        "agent": "Worker",
        "prompt": f"do: {n}{' badly first' if fails else ''}",
    }
    step["depends_on"] = [f"S{k}" for k in _NEEDS.get(n, ())]
    return step | ({"output": {"kind": "json"}} if fails else {})


PLAN: TaskIR = parse_plan(
    {
        "objective": "Survive",
        "agents": [{"name": "Worker", "system_prompt": "You work."}],
        "steps": [_step(n) for n in range(1, 13)],
    }
)


def answering(calls: Path, say: Callable[[str], None], delay_s: float) -> FunctionModel:
    """Return a model that notes each call in a file before it answers, after a moment."""

    async def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        prompt = str(cast("UserPromptPart", messages[-1].parts[-1]).content)
        name = _name(prompt)
        _note(calls, name)
        say(f"asked {name}")
        await asyncio.sleep(delay_s)
        is_bad = name.endswith("badly first")
        text = '{"done": true}' if "badly" in name and not is_bad else f"done: {name}"
        return ModelResponse([TextPart(text)])

    return FunctionModel(answer)


def _name(prompt: str) -> str:
    if "Write the final answer." in prompt:
        return ANSWER
    work = next(part for part in prompt.split("\n\n") if part.startswith("do: "))
    name = work.splitlines()[0].removeprefix("do: ")
    return f"{name}, again" if "was not accepted" in prompt else name


def _note(calls: Path, name: str) -> None:
    descriptor = os.open(calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{name}\n".encode())
    os.close(descriptor)
