"""docs/reference/built_in_tools.md says what the toolsets that come along do."""

from __future__ import annotations

import json
import re
from pathlib import Path

from docs_pages import ROOT, blocks, rows, sections
from prefect_swarm.inputs.contents import MAX_FILE_BYTES, size
from prefect_swarm.plan.task_ir import Agent
from prefect_swarm.toolsets.catalogue import ToolsetSource
from prefect_swarm.toolsets.document_reading import MAX_CHUNK, MAX_DOCUMENTS
from prefect_swarm.toolsets.documents import DocumentsSource
from prefect_swarm.toolsets.python import LIMITS, MOST_FILES, PythonSource
from prefect_swarm.toolsets.web import WebSource
from toolset_calls import calls_of, in_loop, use_in

PARTS = sections("built_in_tools.md")
HARBOUR = DocumentsSource((str(ROOT / "examples" / "harbour"),))
SOURCES: tuple[ToolsetSource, ...] = (HARBOUR, PythonSource(), WebSource())


def test_an_agent_is_written_as_the_plan_language_has_it() -> None:
    (written,) = blocks(PARTS[""], "json")
    assert set(Agent.model_validate(json.loads(written)).tools) <= {s.name for s in SOURCES}


@in_loop
async def test_the_toolsets_have_the_tools_that_the_page_names(tmp_path: Path) -> None:
    named = {row[0]: set(re.findall(r"\w+", row[1])) for row in rows(PARTS[""])}
    for source in SOURCES:
        async with calls_of(source, use_in(tmp_path)) as tools:
            assert named[source.name] == set(tools.definitions)


@in_loop
async def test_the_tools_take_what_the_page_says(tmp_path: Path) -> None:
    for source, part in ((HARBOUR, "Documents"), (WebSource(), "The web")):
        async with calls_of(source, use_in(tmp_path)) as tools:
            for written, _ in rows(PARTS[part]):
                name, arguments = re.fullmatch(r"(\w+)\((.*)\)", written).groups()  # pyright: ignore[reportOptionalMemberAccess]
                taken = tools.definitions[name].parameters_json_schema["properties"]
                assert [each.partition("=")[0].strip() for each in arguments.split(",")] == [*taken]
                for each in arguments.split(","):
                    argument, _, default = each.strip().partition("=")
                    assert taken[argument].get("default") == (json.loads(default or "null"))


@in_loop
async def test_documents_answer_as_the_page_shows(tmp_path: Path) -> None:
    searched, opened = blocks(PARTS["Documents"], "text")
    async with calls_of(HARBOUR, use_in(tmp_path)) as tools:
        query = "which berth costs most per day"
        assert f'search("{query}", limit=1)' in PARTS["Documents"]
        assert await tools.call("search", query=query, limit=1) == searched.strip()
        assert await tools.call("open", name="berths.csv", lines=2) == opened.strip()


@in_loop
async def test_python_answers_as_the_page_shows(tmp_path: Path) -> None:
    (shown,) = blocks(PARTS["Python"], "text")
    code = (
        "fees = {'north mole': 420}\ndef total(names):\n"
        "    return sum(fees[name] for name in names)\ntotal(['east mole'])"
    )
    async with calls_of(PythonSource(), use_in(tmp_path)) as tools:
        answer = await tools.call("python", code=code)
    assert all(line in answer.splitlines() for line in shown.splitlines())


def test_the_bounds_are_those_of_the_program() -> None:
    assert f"{MAX_DOCUMENTS:,} documents are looked through" in PARTS["Documents"]
    assert f"none longer than {MAX_CHUNK:,} characters" in PARTS["Documents"]
    assert f"files of more than {size(MAX_FILE_BYTES)}" in PARTS["Documents"]
    assert f"up to {MOST_FILES} with 16 MiB together" in PARTS["Python"]
    seconds = f"{LIMITS.wall_s:g} seconds, {LIMITS.cpu_s:g} of them computing"
    assert f"{seconds}, 1 GiB of memory, {LIMITS.processes} processes" in PARTS["Python"]
    assert LIMITS.memory_bytes == 1 << 30
    assert f"A call takes {WebSource().patience_s:g} seconds" in PARTS["The web"]
