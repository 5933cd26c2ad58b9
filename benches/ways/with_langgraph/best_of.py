"""Best of three."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ..calls import ask

SAMPLES = 3


class State(TypedDict):
    samples: Annotated[list[str], operator.add]
    best: str


async def write(state: State) -> dict[str, Any]:
    return {"samples": [await ask("do: write")]}


async def judge(state: State) -> dict[str, Any]:
    named = [f"{letter}: {text}" for letter, text in zip("ABC", state["samples"], strict=True)]
    answer = await ask("\n".join(["Compare these results, and name the best one.", *named]))
    return {"best": state["samples"]["ABC".index(json.loads(answer)["best"])]}


def samples(state: State) -> list[Send]:
    return [Send("write", state) for _ in range(SAMPLES)]


graph = StateGraph(State)
graph.add_node("write", write)
graph.add_node("judge", judge)
graph.add_conditional_edges(START, samples, ["write"])
graph.add_edge("write", "judge")
graph.add_edge("judge", END)
BEGIN: dict[str, Any] = {"best": ""}
