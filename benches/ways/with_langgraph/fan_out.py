"""Fan-out and join."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ..calls import LETTERS, ask


class State(TypedDict):
    names: list[str]
    notes: Annotated[list[str], operator.add]
    answer: str


async def read(state: Any) -> dict[str, Any]:
    return {"notes": [await ask(f"do: read {state}")]}


async def compare(state: State) -> dict[str, Any]:
    return {"answer": await ask("\n".join(["do: compare", *state["notes"]]))}


def each(state: State) -> list[Send]:
    return [Send("read", name) for name in state["names"]]


graph = StateGraph(State)
graph.add_node("read", read)
graph.add_node("compare", compare)
graph.add_conditional_edges(START, each, ["read"])
graph.add_edge("read", "compare")
graph.add_edge("compare", END)
BEGIN = {"names": list(LETTERS)}
