"""An agent works with the toolsets that come along, and reads what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from prefect_swarm.toolsets.documents import DocumentsSource
from prefect_swarm.toolsets.python import PythonSource
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from quoted_texts import without_marks
from toolset_calls import in_loop, use_in

Answers = Iterator[Sequence[ToolCallPart | TextPart]]


def scripted(answers: Answers) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(next(answers))

    return FunctionModel(answer)


@in_loop
async def test_an_agent_looks_up_computes_and_learns_from_errors(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fees.txt").write_text("north 42\nsouth 58\n")
    answers: Answers = iter(
        [
            [ToolCallPart("open", {"name": "fees.md"})],
            [ToolCallPart("search", {"query": "fees"}), ToolCallPart("python", {"code": "x = 42"})],
            [
                ToolCallPart("python", {"code": "x += 58"}),
                ToolCallPart("python", {"code": "x += 1; x"}),
            ],
            [ToolCallPart("python", {"code": "x += 1; x"})],
            [TextPart("102")],
        ]
    )
    use = use_in(tmp_path / "run")
    toolsets = [
        DocumentsSource((str(tmp_path / "docs"),)).toolset(use),
        PythonSource().toolset(use),
    ]
    agent = Agent(scripted(answers), deps_type=type(None), toolsets=toolsets)
    result = await agent.run("What is the sum of all fees?")
    returned = [
        without_marks(str(part.content))
        for message in result.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert returned == [
        "There is no document 'fees.md' that can be read. Is it fees.txt?",
        "[Passages 1-1 of 1, in 1 document.]\n\n[fees.txt, lines 1-2]\nnorth 42\nsouth 58",
        "[nothing printed, and no value]",
        "[nothing printed, and no value]",
        "[value]\n101",
        "[value]\n102",
    ]
    assert result.output == "102"
