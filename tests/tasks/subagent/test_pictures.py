"""Models that take pictures are shown those of tools; others read that there are some."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from uuid import uuid4

import pytest
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.context import task_context
from prefect_swarm.tasks.subagent.request import SubagentRequest
from prefect_swarm.tasks.subagent.tool_loop import ToolLoop
from prefect_swarm.toolsets.catalogue import Catalogue
from prefect_swarm.toolsets.mcp.toolset import McpSource
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from quoted_texts import without_marks
from raw_mcp_server import PICTURE
from raw_servers import raw_server

pytestmark = pytest.mark.usefixtures("swarm_home")

Answer = Callable[[list[ModelMessage], AgentInfo], ModelResponse]
NOTE = "[audio/wav, 4 bytes, not shown]"


def request(run_id: str) -> SubagentRequest:
    return SubagentRequest(
        key=f"{run_id}.0123456789abcdef.S1.1",
        run=run_id,
        step="S1",
        agent="Clerk",
        attempt=1,
        tier="worker",
        model="test",
        instructions="You look.",
        prompt="Look.",
        tools=("raw",),
    )


def shown(messages: list[ModelMessage]) -> tuple[str, list[bytes]]:
    """The text and the pictures that the last call gave."""
    [part] = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    pictures = [file.data for file in part.files if isinstance(file, BinaryContent)]
    parts = part.content if isinstance(part.content, list) else [part.content]
    return "\n".join(each for each in parts if isinstance(each, str)), pictures


class Seeing:
    """A model that looks once, and says how many pictures it saw."""

    def __init__(self, refusal: int | None = None, interruptions: int = 0) -> None:
        self.refusal, self.interruptions = refusal, interruptions
        self.seen: list[tuple[str, list[bytes]]] = []

    def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("picture", {})])
        self.seen.append(shown(messages))
        if self.interruptions:
            self.interruptions -= 1
            raise KeyboardInterrupt
        if self.refusal and self.seen[-1][1]:
            raise ModelHTTPError(self.refusal, "seeing", {"message": "no image input"})
        return ModelResponse([TextPart(f"I saw {len(self.seen[-1][1])}.")])


def asked(run_id: str, answer: Answer, *, sees: bool = True) -> str:
    model = FunctionModel(answer, profile=ModelProfile(supports_image_input=sees))
    source = McpSource(raw_server(PICTURES="1"), ToolLimits())
    with task_context(toolsets=Catalogue.of([source])):
        loop = ToolLoop(model, request(run_id), ModelSettings())
        return str(asyncio.run(loop.run()).text)


def journal(run_id: str) -> str:
    [path] = (RunFolder.of(run_id).folder / "calls").glob("*.jsonl")
    return path.read_text()


def test_a_model_that_takes_pictures_is_shown_them() -> None:
    run_id, model = str(uuid4()), Seeing()
    assert asked(run_id, model) == "I saw 2."
    [(text, pictures)] = model.seen
    assert pictures == [PICTURE, PICTURE]
    assert without_marks(text).startswith("Here it is.\n[picture-")
    assert NOTE in text


def test_a_model_that_reads_text_alone_is_told_that_there_are_some() -> None:
    model = Seeing()
    assert asked(str(uuid4()), model, sees=False) == "I saw 0."
    [(text, pictures)] = model.seen
    assert pictures == []
    assert NOTE in text
    assert text.endswith("[You read text alone, so that pictures aren't shown to you.]")


@pytest.mark.parametrize("status", [400, 415, 422])
def test_a_provider_that_refuses_pictures_is_asked_again_without(status: int) -> None:
    run_id, model = str(uuid4()), Seeing(refusal=status)
    assert asked(run_id, model) == "I saw 0."
    assert [len(pictures) for _, pictures in model.seen] == [2, 0]
    assert journal(run_id).count('"kind":"reserved"') == 1


def test_other_refusals_are_not_asked_again() -> None:
    with pytest.raises(ModelHTTPError):
        asked(str(uuid4()), Seeing(refusal=401))


def test_after_an_interruption_the_pictures_are_shown_again_and_the_call_is_not_made_again() -> (
    None
):
    run_id, model = str(uuid4()), Seeing(interruptions=1)
    with pytest.raises(KeyboardInterrupt):
        asked(run_id, model)
    assert asked(run_id, model) == "I saw 2."
    assert model.seen[0] == model.seen[1]
    assert journal(run_id).count('"kind":"reserved"') == 1


def test_a_picture_is_a_file_once_and_no_journal_has_its_data() -> None:
    run_id = str(uuid4())
    asked(run_id, Seeing())
    folder = RunFolder.of(run_id).folder / "calls" / "pictures"
    [path] = folder.iterdir()
    assert path.read_bytes() == PICTURE
    assert "iVBOR" not in journal(run_id)
    kinds = [json.loads(line)["kind"] for line in journal(run_id).splitlines() if line]
    assert kinds == ["messages", "reserved", "committed", "messages"]
