"""Filter."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ..calls import ask


class State(TypedDict):
    papers: list[dict[str, Any]]
    notes: Annotated[list[str], operator.add]
    answer: str


async def find(state: State) -> dict[str, Any]:
    return {"papers": json.loads(await ask("do: find"))}


async def read(state: Any) -> dict[str, Any]:
    return {"notes": [await ask(f"do: read {state}")]}


async def compare(state: State) -> dict[str, Any]:
    return {"answer": await ask("\n".join(["do: compare", *state["notes"]]))}


def those_that_matter(state: State) -> list[Send]:
    return [Send("read", paper["name"]) for paper in state["papers"] if paper["score"] > 5]


graph = StateGraph(State)
graph.add_node("find", find)
graph.add_node("read", read)
graph.add_node("compare", compare)
graph.add_edge(START, "find")
graph.add_conditional_edges("find", those_that_matter, ["read"])
graph.add_edge("read", "compare")
graph.add_edge("compare", END)
BEGIN: dict[str, Any] = {"papers": []}
