import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

TOPICS = [str(number) for number in range(1, 13)]
model = ChatOpenAI(model="scripted")


class State(TypedDict):
    findings: Annotated[list[str], operator.add]
    answer: str


def spread(state: State):
    return [Send("research", topic) for topic in TOPICS]


async def research(topic: str):
    return {"findings": [(await model.ainvoke(f"Research this topic: [research {topic}]")).text]}


async def join(state: State):
    findings = "\n\n".join(state["findings"])
    return {"answer": (await model.ainvoke(f"{findings}\n\n[join] Compare the findings")).text}


builder = StateGraph(State)
builder.add_node(research)
builder.add_node(join)
builder.add_conditional_edges(START, spread, ["research"])
builder.add_edge("research", "join")
builder.add_edge("join", END)


async def main() -> None:
    async with AsyncSqliteSaver.from_conn_string("checkpoints.sqlite") as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)
        config = {"configurable": {"thread_id": "research"}}
        begun = (await graph.aget_state(config)).next
        print((await graph.ainvoke(None if begun else {"findings": []}, config))["answer"])


asyncio.run(main())
