"""docs/how-to/files.md and its example say what the program does."""

from __future__ import annotations

import json

from docs_pages import ROOT, blocks, page_path
from prefect_swarm.flows.prefect_io.storage import FetchBounds
from prefect_swarm.flows.run_inputs import with_inputs
from prefect_swarm.inputs.contents import MAX_FILE_BYTES, MAX_FILES, MAX_PAGES, MAX_TEXT_BYTES, size
from prefect_swarm.inputs.pictures import (
    MAX_PICTURES,
    MAX_PICTURES_BYTES,
    MAX_PIXELS,
    MAX_SIDE,
    picture_of,
)
from prefect_swarm.inputs.reading import read_paths
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import Step, load_plan

PAGE = page_path("files.md").read_text("utf-8")


def test_the_example_s_steps_read_its_files() -> None:
    inputs = read_paths([ROOT / "examples" / "harbour"])
    plan = compile_plan(with_inputs(load_plan(ROOT / "examples" / "harbour.json"), inputs))
    read = {step.id: [name for name, _ in plan.inputs_of(step)] for step in plan.steps}
    assert read == {"S1": ["berths.csv"], "S2": ["notes.md", "notice.pdf"], "S3": []}
    assert "[page 1]\nThe south pier is closed" in inputs["notice.pdf"]


def test_the_limits_are_those_of_the_program() -> None:
    assert f"A file may have {size(MAX_FILE_BYTES)} and a PDF {MAX_PAGES:,} pages" in PAGE
    assert f"a run takes {MAX_FILES:,} files and {size(MAX_TEXT_BYTES)} of text" in PAGE


def test_the_bounds_of_fetching_are_those_of_the_program() -> None:
    bounds = FetchBounds()
    most = f"{bounds.bytes >> 20} MiB, {bounds.files:,} files and {bounds.seconds:g} s at most"
    assert most in PAGE


def test_the_limits_of_pictures_are_those_of_the_program() -> None:
    assert f"scaled to at most {MAX_SIDE:,} pixels a\nside" in PAGE
    most = f"{MAX_PIXELS / 1e6:,.0f} million pixels, a step {MAX_PICTURES} pictures"
    assert f"A picture may have {most}, and a run {size(MAX_PICTURES_BYTES)} of them" in PAGE


def test_the_letters_are_a_picture_and_a_text() -> None:
    inputs = read_paths([ROOT / "examples" / "letters"])
    assert picture_of(inputs["sign.png"]) is not None
    assert inputs["memo.docx"].startswith("# Memo to the harbour office\n\nThe works at the south")


def test_the_step_of_the_page_is_the_example_s() -> None:
    (written,) = blocks(PAGE, "json")
    steps = load_plan(ROOT / "examples" / "harbour.json").steps
    assert Step.model_validate(json.loads(written)) == steps[0]
