"""Loop until done."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ..calls import ask

MOST = 6


class State(TypedDict):
    round: int
    problems: list[str]


async def improve(state: State) -> dict[str, Any]:
    number = state["round"] + 1
    if number > MOST:
        raise RuntimeError(f"There are still problems after {MOST} rounds.")
    answer = await ask(f"Problems: {state['problems']}\ndo: improve {number}")
    return {"round": number, "problems": json.loads(answer)["problems"]}


def following(state: State) -> str:
    return "improve" if state["problems"] else END


graph = StateGraph(State)
graph.add_node("improve", improve)
graph.add_edge(START, "improve")
graph.add_conditional_edges("improve", following, ["improve", END])
BEGIN = {"round": 0, "problems": []}
