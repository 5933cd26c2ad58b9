"""The run that the pictures show. As a program it is done, and its flow run's id is printed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType

from prefect_swarm import (
    SwarmOptions,
    SwarmResult,
    override_models,
    override_toolsets,
    parse_plan,
    swarm,
)
from pydantic_ai import FunctionToolset
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

__all__ = ["PLAN", "do_journey"]

_AGENTS: Mapping[str, str] = MappingProxyType(
    {
        "Railway Researcher": "You know timetables and fares of trains.",
        "Coach Researcher": "You know long-distance buses.",
        "Cycling Expert": "You have cycled through all of the country.",
        "Price Clerk": "You write figures as JSON, and nothing else.",
        "Editor": "You write short comparisons for travellers.",
    }
)
_PRICES = {
    "type": "object",
    "properties": {name: {"type": "number"} for name in ("train", "bus", "bicycle")},
    "required": ["train", "bus", "bicycle"],
}
PLAN = {
    "objective": "Compare trains, buses and bicycles as a way to travel from Lübeck to Hamburg",
    "agents": [
        {
            "name": name,
            "system_prompt": text,
            "tools": ["timetable"] if name == "Railway Researcher" else [],
        }
        for name, text in _AGENTS.items()
    ],
    "steps": [
        {"id": "S1", "agent": "Railway Researcher", "prompt": "How long does a train take?"},
        {"id": "S2", "agent": "Coach Researcher", "prompt": "How long does a bus take?"},
        {"id": "S3", "agent": "Cycling Expert", "prompt": "How long does one cycle?"},
        {
            "id": "S4",
            "agent": "Price Clerk",
            "prompt": "Write what each way costs, in euros.",
            "output": {"kind": "json", "schema": _PRICES},
            "depends_on": ["S1", "S2", "S3"],
        },
        {
            "id": "S5",
            "agent": "Cycling Expert",
            "prompt": "Describe the route by bicycle in two sentences.",
            "depends_on": ["S3"],
        },
        {
            "id": "S6",
            "agent": "Editor",
            "prompt": "Write the comparison with a table, and what decides.",
            "depends_on": ["S4", "S5"],
        },
    ],
}
_ANSWER = """## From Lübeck to Hamburg

**Take the train**: it is the fastest, and leaves twice an hour.

| Way | Time | Price |
|---|--:|--:|
| Train | 0:45 | €16.90 |
| Bus | 1:10 | €8.00 |
| Bicycle | 4:15 | €0.00 |

What decides is how much time you have. The bus costs half as much; the bicycle takes an afternoon,
along the old salt road.
"""
_REPLIES: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        "train take": (
            1.9,
            "A train takes 45 minutes, and there are two an hour. A ticket is €16.90.",
        ),
        "bus take": (1.2, "A bus takes an hour and ten minutes. A ticket is €8.00."),
        "one cycle": (2.6, "The way is 68 km: four hours and a quarter at 16 km/h."),
        "what each way costs": (1.1, '{"train": 16.9, "bus": 8.0, "bicycle": 0}'),
        "the route": (1.4, "You follow the old salt road to the south, then the Elbe to the west."),
        "the comparison": (2.2, _ANSWER),
    }
)
_WRONG = '{"train": 16.9, "bus": 8.0}'


def do_journey() -> SwarmResult:
    """Do the run; the clerk forgets the bicycle at first, and is asked again."""
    asked: list[str] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        prompt = _prompt(messages)
        # What a step reads of earlier steps stands in its prompt too; its own question is later.
        found = max(_REPLIES, key=lambda words: prompt.rfind(words))
        seconds, text = _REPLIES[found]
        if found == "train take" and not _has_looked(messages):
            journey = {"origin": "Lübeck Hbf", "destination": "Hamburg Hbf"}
            return ModelResponse(parts=[ToolCallPart("departures", journey)])
        asked.append(found)
        await asyncio.sleep(seconds)
        if found == "what each way costs" and asked.count(found) == 1:
            text = _WRONG
        usage = RequestUsage(input_tokens=len(prompt) // 4, output_tokens=len(text) // 4)
        return ModelResponse(parts=[TextPart(text)], usage=usage)

    model = FunctionModel(answer, model_name="scripted")
    options = SwarmOptions(memory=False)
    with (
        override_models(worker=model, coder=model, architect=model, orchestrator=model),
        override_toolsets(timetable=FunctionToolset([departures])),
    ):
        plan = parse_plan(json.loads(json.dumps(PLAN)))
        return asyncio.run(swarm(plan.objective, plan=plan, options=options))


def departures(origin: str, destination: str) -> list[str]:
    """List the next trains between two stations, with their arrival and fare."""
    return [
        f"08:{minute:02} {origin} → 08:{minute + 45:02} {destination}, €16.90" for minute in (3, 10)
    ]


def _has_looked(messages: list[ModelMessage]) -> bool:
    return any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)


def _prompt(messages: list[ModelMessage]) -> str:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    parts = [part for request in requests for part in request.parts]
    prompts = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    return prompts[-1]


if __name__ == "__main__":
    print(do_journey().flow_run_id)
