"""A picture that a tool returned is on the step's page, in the report and among the output."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

import pytest
from flow_runs import pages, plan_of, run
from picture_files import encoded, picture_bytes, pixels
from PIL import Image
from prefect_swarm import override_models, override_toolsets, report_html
from prefect_swarm.flows.output import output_files
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import picture_stem
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

RED = picture_bytes()
SHOWN = re.compile(r"!\[(?P<name>[^\]]+)\]\(data:(?P<kind>[a-z/]+);base64,(?P<data>[^)]+)\)")


def looking(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if any(isinstance(part, ToolReturnPart) for each in messages for part in each.parts):
        return ModelResponse([TextPart("It is red.")])
    return ModelResponse([ToolCallPart(info.function_tools[0].name, {})])


def ran(plan: TaskIR, *returned: bytes, **options: Any) -> SwarmResult:
    tools: FunctionToolset[None] = FunctionToolset()

    @tools.tool_plain
    def look() -> list[BinaryContent]:  # pyright: ignore[reportUnusedFunction]
        """Look at it."""
        return [BinaryContent(data, media_type="image/png") for data in returned]

    model = FunctionModel(looking)
    with override_toolsets(camera=tools), override_models(worker=model):
        return run(plan, **options)


@pytest.fixture
def plan() -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You look.", "tools": ["camera"]}]
    return plan_of({"id": "S1"}, agents=agents)


def drawn(page: str) -> dict[str, tuple[str, bytes]]:
    found = SHOWN.finditer(page)
    return {each["name"]: (each["kind"], b64decode(each["data"])) for each in found}


def test_the_page_of_a_step_in_the_prefect_ui_has_the_picture(plan: TaskIR) -> None:
    result = ran(plan, RED)
    page = pages(result.flow_run_id)["swarm-s1"]
    [(name, (kind, data))] = drawn(page).items()
    assert (name, kind) == (f"{picture_stem(RED)}.png", "image/png")
    assert pixels(data).getpixel((5, 5)) == (255, 0, 0)
    assert f"{name}, returned by look, 40 × 20 pixels" in page


def test_a_server_takes_a_page_with_all_the_pictures_that_it_may_have(plan: TaskIR) -> None:
    noise = [encoded(Image.effect_noise((700 + n, 500), 60)) for n in range(6)]
    page = pages(ran(plan, *noise).flow_run_id)["swarm-s1"]
    found = drawn(page)
    assert len(found) == 4
    assert 60_000 < sum(len(data) for _, data in found.values()) <= 225_000
    assert page.count("is not drawn: there is no room for more pictures") == 2
    assert all(pixels(data).width > 100 for _, data in found.values())


def test_the_report_and_the_output_have_it_once(plan: TaskIR) -> None:
    result = ran(plan, RED)
    name = f"{picture_stem(RED)}.png"
    stored = RunFolder.find(result.run_id)
    assert view_of(stored).steps[0].pictures[0].origin == "returned by look"
    for document in (report_html(result), report_html(result.run_id)):
        assert document.count('<img src="data:image/png;base64,') == 1
        assert f'alt="{name}"' in document
    files = output_files(stored, result, is_json=False)
    assert files[f"S1-reader-files/{name}"] == RED
    stored.write_artifacts("S1", "S1.1", {"red.png": RED})
    again = output_files(stored, result, is_json=False)
    assert [path for path in again if path.endswith(".png")] == ["S1-reader-files/red.png"]
    assert report_html(result.run_id).count('<img src="data:image/png;base64,') == 1
