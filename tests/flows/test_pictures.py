"""Pictures among a run's inputs go to models as pictures, and nowhere as text."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from pdf_files import pdf_of
from picture_files import picture_bytes, pixels, scanned_pdf
from PIL import Image
from prefect_swarm import SwarmOptions, SwarmResult, override_models, resume, swarm
from prefect_swarm.errors import BudgetExceededError, ModelError, NoPlanError
from prefect_swarm.inputs.reading import read_inputs
from prefect_swarm.models.remote import remote_model
from prefect_swarm.models.resolve import takes_pictures
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.planner.facts import notes_of
from provider_runs import ONCE, serving, works
from provider_server import Asked, ProviderServer, Reply
from pydantic_ai.messages import BinaryContent

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PNG = picture_bytes()
SHOT: Mapping[str, Any] = {"shot.png": BinaryContent(PNG, media_type="image/png")}
LOOK = plan_of({"id": "S1", "inputs": ["shot.png"]})


def run_at(
    server: ProviderServer, plan: TaskIR, inputs: Mapping[str, Any], model: str = "", **options: Any
) -> SwarmResult:
    given: dict[str, Any] = {"model": model or server.name(), "memory": False, **options}
    return asyncio.run(
        swarm(plan.objective, plan=plan, inputs=inputs, options=SwarmOptions(**given))
    )


def content(asked: Asked) -> list[dict[str, Any]]:
    """The parts of what the user's last message has."""
    users = [message for message in asked.body["messages"] if message["role"] == "user"]
    found = users[-1]["content"]
    return found if isinstance(found, list) else [{"type": "text", "text": found}]


def pictures(asked: Asked) -> list[bytes]:
    urls = [part["image_url"]["url"] for part in content(asked) if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def texts(asked: Asked) -> list[str]:
    return [part["text"] for part in content(asked) if part["type"] == "text"]


def colour_of(picture: Image.Image) -> str:
    """The colour of a picture at its top, which a JPEG may have changed by a little."""
    red, _, blue = picture.resize((1, 1), box=(0, 0, 9, 9)).tobytes()
    return "red" if red > 200 > 50 > blue else "blue" if blue > 200 > 50 > red else "another"


def files_with(run_id: str, text: str) -> set[str]:
    """The files of a run that have a text."""
    folder = RunFolder.of(run_id).folder
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    }


def test_a_provider_gets_a_picture_behind_its_name() -> None:
    with serving(works) as server:
        result = run_at(server, LOOK, SHOT)
    assert result.status == "completed"
    [asked] = server.asked
    assert [part["type"] for part in content(asked)] == ["text", "image_url", "text"]
    [shown] = pictures(asked)
    assert pixels(shown).getpixel((3, 3)) == (255, 0, 0)
    label, prompt = texts(asked)
    assert label == "Input shot.png:"
    assert prompt == "Input shot.png: the picture above that is called so.\n\ndo S1"


def test_only_what_a_run_was_given_has_the_data_of_a_picture() -> None:
    with serving(works) as server:
        result = run_at(server, LOOK, SHOT)
    [url] = [part["image_url"]["url"] for part in content(server.asked[0]) if "image_url" in part]
    found = files_with(result.run_id, url.partition(",")[2][:200])
    assert found <= {"inputs.json", "planned.json", "plan.json", "result.json"}


def test_a_step_sees_the_pictures_that_it_names_beside_its_texts() -> None:
    inputs = read_inputs({"a.png": BinaryContent(PNG, media_type="image/png"), "note": "hello"})
    plan = plan_of({"id": "S1", "inputs": ["a.png", "note"]}, {"id": "S2", "inputs": ["note"]})
    with serving(works) as server:
        run_at(server, plan, inputs)
    seen = {texts(asked)[-1].split()[-1]: len(pictures(asked)) for asked in server.asked}
    assert (seen["S1"], seen["S2"]) == (1, 0)


def test_pages_of_a_pdf_without_text_are_shown_behind_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(scanned_pdf("red", "blue"))
    with serving(works) as server:
        run_at(server, plan_of({"id": "S1"}), {"scan.pdf": tmp_path / "scan.pdf"})
    [asked] = server.asked
    assert texts(asked)[:2] == ["Input scan.pdf, page 1:", "Input scan.pdf, page 2:"]
    red, blue = (pixels(shown) for shown in pictures(asked))
    assert [colour_of(page) for page in (red, blue)] == ["red", "blue"]
    assert "[page 2]\n[the picture above of page 2]" in texts(asked)[-1]


def test_a_model_that_takes_no_pictures_is_an_error_before_any_request() -> None:
    with serving(works) as server:
        with pytest.raises(ModelError) as caught:
            run_at(server, LOOK, SHOT, model=server.name("gpt-3.5-turbo"))
        assert not any(pictures(asked) for asked in server.asked)
    assert "Step S1 reads the picture shot.png" in caught.value.problem
    assert "gpt-3.5-turbo" in caught.value.problem


def test_without_a_plan_too() -> None:
    with serving(works) as server:
        options = SwarmOptions(model=server.name("gpt-3.5-turbo"), memory=False)
        with pytest.raises(ModelError, match=r"the picture shot\.png"):
            asyncio.run(swarm("Look", inputs=SHOT, options=options))
        assert not any(asked.is_plan for asked in server.asked)


def test_a_for_each_over_inputs_shows_each_step_its_own_picture() -> None:
    inputs = {
        name: BinaryContent(picture_bytes(colour=name), media_type="image/png")
        for name in ("red", "blue")
    }
    each = {"for_each": {"items": "*"}, "prompt": "What is {item}?", "inputs": []}
    with serving(works) as server:
        run_at(server, plan_of({"id": "S1", **each}), inputs)
    members = [asked for asked in server.asked if pictures(asked)]
    labels = sorted(texts(asked)[0] for asked in members)
    assert labels == ["Input blue:", "Input red:"]
    assert all(len(pictures(asked)) == 1 for asked in members)


def test_a_resumed_run_shows_what_it_was_given_and_asks_nothing_twice() -> None:
    plan = plan_of({"id": "S1", "inputs": ["shot.png"]}, {"id": "S2", "inputs": ["shot.png"]})

    def refusing(asked: Asked) -> Reply:
        if texts(asked)[-1].endswith("S2"):
            # Of this step alone: a refused key would be the other step's, too.
            return Reply(status=400, error={"message": "no"})
        return works(asked)

    with serving(refusing) as server:
        partial = run_at(server, plan, SHOT, policy=ONCE)
        assert partial.status == "partial"
        before = len(server.asked)
        server.reply = works
        resumed = asyncio.run(resume(partial.run_id, retry_failed=True))
    assert resumed.status == "completed"
    [again] = [asked for asked in server.asked[before:] if pictures(asked)]
    assert texts(again)[-1].endswith("S2")


def test_a_budget_counts_the_pictures() -> None:
    wide = {"wide": BinaryContent(picture_bytes(size=(1500, 1500)), media_type="image/png")}
    with serving(works) as server, pytest.raises(BudgetExceededError, match="tokens"):
        run_at(server, plan_of({"id": "S1"}), wide, max_tokens=2000)
    assert not server.asked


def test_a_reader_of_pdfs_with_text_is_asked_in_text_alone() -> None:
    with serving(works) as server:
        run_at(
            server,
            plan_of({"id": "S1"}),
            {"a.pdf": BinaryContent(pdf_of("Hello"), media_type="application/pdf")},
        )
    assert isinstance(server.asked[0].body["messages"][-1]["content"], str)
    assert "Hello" in json.dumps(server.asked[0].body)


def test_where_there_is_no_room_for_a_picture_it_is_left_out_and_that_is_said() -> None:
    inputs = {
        name: BinaryContent(picture_bytes(size=(1200, 1200)), media_type="image/png")
        for name in ("a.png", "b.png")
    }
    with serving(works) as server:
        result = run_at(server, plan_of({"id": "S1"}), inputs, max_input_tokens=3000)
    [asked] = server.asked
    assert len(pictures(asked)) == 1
    assert "a picture is left out" in texts(asked)[-1]
    [left_out] = result.steps[0].attempts[0].left_out
    assert (left_out.name, left_out.tokens) == ("b.png", 1920)


def test_the_page_of_a_step_names_the_pictures_that_it_was_sent() -> None:
    with serving(works) as server:
        result = run_at(server, LOOK, SHOT)
    view = view_of(RunFolder.of(result.run_id))
    [attempt] = view.steps[0].attempts
    assert attempt.sent.startswith("Input shot.png:\n[picture-")
    [(name, characters)] = view.steps[0].reads
    assert name == "shot.png"
    assert characters < 60


def test_a_block_may_say_that_a_model_takes_no_pictures() -> None:
    with serving(works) as server:
        blind = remote_model("strong-model", base_url=server.url, takes_pictures=False)
        sees = remote_model("gpt-3.5-turbo", base_url=server.url, takes_pictures=True)
        assert not takes_pictures(blind)
        assert takes_pictures(sees)
        with override_models(worker=blind), pytest.raises(ModelError, match="takes no pictures"):
            run_at(server, LOOK, SHOT)


def test_a_plan_is_made_with_what_a_picture_is_and_not_its_data() -> None:
    [note] = notes_of({"shot.png": read_inputs(SHOT)["shot.png"]})
    assert note.kind == "picture"
    assert note.tokens == 255
    assert note.begins.startswith("[picture: PNG, 40 × 20 pixels,")


def test_a_planner_reads_which_models_cannot_be_shown_the_pictures() -> None:
    with serving(works) as server:
        options = SwarmOptions(
            model=server.name(), worker=server.name("gpt-3.5-turbo"), memory=False
        )
        with pytest.raises(NoPlanError):
            asyncio.run(swarm("Look", inputs=SHOT, options=options))
    first = "\n".join(next(asked.texts for asked in server.asked if asked.is_plan))
    assert "- shot.png (picture," in first
    lines = [line for line in first.splitlines() if line.endswith("it can't read pictures")]
    assert [line.partition(":")[0] for line in lines] == ["- worker"]
    assert "base64" not in first


def test_an_agent_with_tools_sees_its_pictures_and_its_journal_has_no_data() -> None:
    agents = [{"name": "Reader", "system_prompt": "You look.", "tools": ["python"]}]
    with serving(works) as server:
        result = run_at(server, plan_of({"id": "S1"}, agents=agents), SHOT)
    assert result.status == "completed"
    [shown] = pictures(server.asked[0])
    [url] = [part["image_url"]["url"] for part in content(server.asked[0]) if "image_url" in part]
    found = files_with(result.run_id, url.partition(",")[2][:200])
    assert found <= {"inputs.json", "planned.json", "plan.json", "result.json"}
    folder = RunFolder.of(result.run_id).folder / "calls" / "pictures"
    assert [path.read_bytes() for path in folder.iterdir()] == [shown]
