"""Review."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ..calls import ask

VOTES, PASS, ATTEMPTS = 3, 2, 3


class State(TypedDict):
    attempt: int
    draft: str
    verdicts: Annotated[list[tuple[int, dict[str, Any]]], operator.add]


async def write(state: State) -> dict[str, Any]:
    refused = [reason for each in current(state) for reason in each["reasons"]]
    feedback = f"\n{state['draft']} was not accepted: {refused}" if refused else ""
    return {"draft": await ask(f"do: draft{feedback}"), "attempt": state["attempt"] + 1}


async def check(state: State) -> dict[str, Any]:
    verdict = json.loads(await ask(f"Try to refute this result: {state['draft']}"))
    return {"verdicts": [(state["attempt"], verdict)]}


async def decide(state: State) -> dict[str, Any]:
    if not accepted(state) and state["attempt"] == ATTEMPTS:
        raise RuntimeError("No attempt was accepted.")
    return {}


def current(state: State) -> list[dict[str, Any]]:
    return [verdict for number, verdict in state["verdicts"] if number == state["attempt"]]


def accepted(state: State) -> bool:
    return sum(each["verdict"] == "accept" for each in current(state)) >= PASS


def reviewers(state: State) -> list[Send]:
    return [Send("check", state) for _ in range(VOTES)]


def following(state: State) -> str:
    return END if accepted(state) else "write"


graph = StateGraph(State)
graph.add_node("write", write)
graph.add_node("check", check)
graph.add_node("decide", decide)
graph.add_edge(START, "write")
graph.add_conditional_edges("write", reviewers, ["check"])
graph.add_edge("check", "decide")
graph.add_conditional_edges("decide", following, ["write", END])
BEGIN = {"attempt": 0, "draft": ""}
