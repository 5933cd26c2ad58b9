import operator
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

TOPICS = [str(number) for number in range(1, 13)]
model = ChatOpenAI(model="scripted")


class State(TypedDict):
    findings: Annotated[list[str], operator.add]
    answer: str


def spread(state: State):
    return [Send("research", topic) for topic in TOPICS]


def research(topic: str):
    return {"findings": [model.invoke(f"Research this topic: [research {topic}]").text]}


def join(state: State):
    findings = "\n\n".join(state["findings"])
    return {"answer": model.invoke(f"{findings}\n\n[join] Compare the findings").text}


builder = StateGraph(State)
builder.add_node(research)
builder.add_node(join)
builder.add_conditional_edges(START, spread, ["research"])
builder.add_edge("research", "join")
builder.add_edge("join", END)

with SqliteSaver.from_conn_string("checkpoints.sqlite") as checkpointer:
    graph = builder.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "research"}}
    begun = graph.get_state(config).next
    print(graph.invoke(None if begun else {"findings": []}, config)["answer"])
