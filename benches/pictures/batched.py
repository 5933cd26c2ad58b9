"""The batch that the pictures show. As a program it is done, and its flow run's id is printed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from prefect_swarm import SwarmOptions, override_models, swarm_batch
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

__all__ = ["do_batch"]

_LOST = "timetable of 1911"
_ANSWER = "A train takes 45 minutes and a bus an hour and ten. The train is dearer, and drier."


def _plan(prompt: str, **fields: str) -> str:
    agents = [{"name": "Clerk", "system_prompt": "You answer letters of travellers."}]
    steps = [{"id": "S1", "agent": "Clerk", "prompt": prompt}]
    return json.dumps({"objective": prompt, "agents": agents, "steps": steps, **fields})


_LINES = (
    _plan("Compare trains and buses from Lübeck to Hamburg."),
    _plan("Answer the letter about the lost umbrella."),
    "Compare tea and coffee",
    _plan("Answer the minister's letter.", deadline="2026-01-05T18:00:00+01:00"),
    _plan(f"Copy the {_LOST}."),
    _plan("Write a letter of thanks to the harbour master."),
)


def do_batch(folder: Path) -> str:
    """Do a batch whose files lie in that folder; return its flow run's id."""
    folder.mkdir()
    os.chdir(folder)
    Path("objectives.jsonl").write_text("\n".join(_LINES), "utf-8")
    options = SwarmOptions(memory=False, max_attempts=1)
    model = FunctionModel(_answer, model_name="scripted")
    flow: Any = swarm_batch  # Prefect's annotations deny that the state is awaited
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        batch = flow("objectives.jsonl", "results.jsonl", options, return_state=True)
        return str(asyncio.run(batch).state_details.flow_run_id)


async def _answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    prompt = str(messages)
    text = "" if _LOST in prompt else _ANSWER
    usage = RequestUsage(input_tokens=len(prompt) // 4, output_tokens=len(text) // 4)
    return ModelResponse(parts=[TextPart(text)], usage=usage)


if __name__ == "__main__":
    print(do_batch(Path(sys.argv[1])))
