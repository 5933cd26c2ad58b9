import asyncio
import operator
from typing import Annotated, TypedDict

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel

model = ChatOpenAI(model="scripted")


class Found(BaseModel):
    items: list[str]


class Score(BaseModel):
    name: str
    score: int


scout = create_agent(model, response_format=ToolStrategy(Found))
judge = create_agent(model, response_format=ToolStrategy(Score))


class State(TypedDict):
    items: list[str]
    scores: Annotated[list[str], operator.add]
    answer: str


async def ask(agent, prompt: str):
    result = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
    return result["structured_response"]


async def find(state: State):
    return {"items": (await ask(scout, "[find] List the things")).items}


def spread(state: State):
    return [Send("score", item) for item in state["items"]]


async def score(item: str):
    return {"scores": [(await ask(judge, f"Score this thing: [item {item}]")).model_dump_json()]}


async def join(state: State):
    scores = "\n".join(state["scores"])
    return {"answer": (await model.ainvoke(f"{scores}\n\n[join] Compare the scores")).text}


builder = StateGraph(State)
builder.add_node(find)
builder.add_node(score)
builder.add_node(join)
builder.add_edge(START, "find")
builder.add_conditional_edges("find", spread, ["score"])
builder.add_edge("score", "join")
builder.add_edge("join", END)


async def main() -> None:
    async with AsyncSqliteSaver.from_conn_string("checkpoints.sqlite") as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)
        config = {"configurable": {"thread_id": "spread"}}
        begun = (await graph.aget_state(config)).next
        print((await graph.ainvoke(None if begun else {"scores": []}, config))["answer"])


asyncio.run(main())
