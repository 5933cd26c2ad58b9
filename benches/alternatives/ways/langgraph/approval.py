import sys
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

model = ChatOpenAI(model="scripted")


class State(TypedDict):
    note: str
    answer: str


def draft(state: State):
    return {"note": model.invoke("[draft] Draft the note").text}


def approve(state: State):
    if interrupt(state["note"]) != "yes":
        return Command(goto=END)
    return Command(goto="publish")


def publish(state: State):
    return {"answer": model.invoke(f"{state['note']}\n\n[publish] Publish the note").text}


builder = StateGraph(State)
builder.add_node(draft)
builder.add_node(approve, destinations=("publish", END))
builder.add_node(publish)
builder.add_edge(START, "draft")
builder.add_edge("draft", "approve")

with SqliteSaver.from_conn_string("checkpoints.sqlite") as checkpointer:
    graph = builder.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "approval"}}
    print(graph.invoke(Command(resume=sys.argv[1]) if sys.argv[1:] else {}, config))
