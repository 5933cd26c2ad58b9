"""Classify and act."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ..calls import ask


class State(TypedDict):
    kind: str
    done: str
    answer: str


async def classify(state: State) -> dict[str, Any]:
    return {"kind": json.loads(await ask("do: classify"))["kind"]}


async def fix(state: State) -> dict[str, Any]:
    return {"done": await ask("do: fix")}


async def reply(state: State) -> dict[str, Any]:
    return {"done": await ask("do: reply")}


async def report(state: State) -> dict[str, Any]:
    return {"answer": await ask(f"do: report\n{state['done']}")}


def chosen(state: State) -> str:
    return {"bug": "fix", "question": "reply"}[state["kind"]]


graph = StateGraph(State)
graph.add_node("classify", classify)
graph.add_node("fix", fix)
graph.add_node("reply", reply)
graph.add_node("report", report)
graph.add_edge(START, "classify")
graph.add_conditional_edges("classify", chosen, ["fix", "reply"])
graph.add_edge("fix", "report")
graph.add_edge("reply", "report")
graph.add_edge("report", END)
BEGIN: dict[str, Any] = {"kind": ""}
