"""The command line with a model that answers at once, in a process of its own.

It calls a tool `book` first, if it has one.

`at_terminal.py CALLS ARGUMENTS…`: each call of the model is noted in the file CALLS.
"""

from __future__ import annotations

import sys
from pathlib import Path

from prefect_swarm.cli import main
from prefect_swarm.models.resolve import override_models
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


def run(calls: Path, arguments: list[str]) -> None:
    """Run a command."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        text = str(getattr(last.parts[-1], "content", ""))
        tools = {tool.name for tool in info.function_tools}
        if "book" in tools and not isinstance(last.parts[-1], ToolReturnPart):
            return ModelResponse([ToolCallPart("book", {"to": "Rome"})])
        with calls.open("a", encoding="utf-8") as file:
            file.write(f"{text.splitlines()[-1]}\n")
        return ModelResponse([TextPart(f"done: {text.splitlines()[-1]}")])

    sys.argv = ["prefect-swarm", *arguments]
    with override_models(worker=FunctionModel(answer), orchestrator=FunctionModel(answer)):
        main()


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
