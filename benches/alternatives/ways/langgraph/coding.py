import subprocess
import sys
from pathlib import Path
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

TEST = "from add import add\nassert add(2, 3) == 5, add(2, 3)\n"
model = ChatOpenAI(model="scripted")


class State(TypedDict):
    code: str
    failure: str
    tries: int


def write(state: State):
    prompt = "[coding] Write a Python function add(a, b) that returns the sum. Code alone."
    if state["failure"]:
        prompt += f"\n\nYour code:\n{state['code']}\n\nIt failed:\n{state['failure']}"
    return {"code": model.invoke(prompt).text, "tries": state["tries"] + 1}


def check(state: State):
    Path("add.py").write_text(state["code"])
    Path("test.py").write_text(TEST)
    run = subprocess.run([sys.executable, "test.py"], capture_output=True, text=True, timeout=30)
    return {"failure": run.stderr}


def decide(state: State):
    return "write" if state["failure"] and state["tries"] < 3 else END


builder = StateGraph(State)
builder.add_node(write)
builder.add_node(check)
builder.add_edge(START, "write")
builder.add_edge("write", "check")
builder.add_conditional_edges("check", decide, ["write", END])

with SqliteSaver.from_conn_string("checkpoints.sqlite") as checkpointer:
    graph = builder.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "coding"}}
    result = graph.invoke({"code": "", "failure": "", "tries": 0}, config)
    print(result["code"])
    sys.exit(bool(result["failure"]))
