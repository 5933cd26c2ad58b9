"""The page on blocks: its table has each type, and its examples are run on a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from deployments import prefect_command
from docs_pages import blocks, page_path, rows
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect_swarm import SharedOptions
from prefect_swarm import blocks as block_types

PAGE = page_path("how-to/blocks.md").read_text("utf-8")


def test_the_table_has_each_type_of_block() -> None:
    types = [getattr(block_types, name) for name in block_types.__all__]
    named = {
        f"{each.get_block_type_name()} (`{each.get_block_type_slug()}`)"
        for each in types
        if Block.is_block_class(each)
    }
    assert {row[0] for row in rows(PAGE)} == named


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_the_block_is_saved_and_the_deployment_has_what_its_file_names(tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "python")
    exec(compile(program, "docs/how-to/blocks.md", "exec"), {})  # noqa: S102
    saved: Any = SharedOptions.load("team", _sync=True)  # pyright: ignore
    assert saved.options["max_attempts"] == 4

    prefect_command("work-pool", "create", "swarm", "--type", "process", "--overwrite")
    *_, commands = blocks(PAGE, "sh")
    file = tmp_path / "prefect.yaml"
    (parameters,) = blocks(PAGE, "yaml")
    file.write_text(parameters, "utf-8")
    for command in commands.splitlines():
        words = command.removeprefix("prefect ").removeprefix("--no-prompt ").split()
        prefect_command(*words, *(["--prefect-file", str(file)] if "deploy" in words else []))

    async def read() -> dict[str, Any]:
        async with get_client() as client:
            return (await client.read_deployment_by_name("swarm/team")).parameters

    assert asyncio.run(read())["options"] == {
        "options_block": "team",
        "orchestrator": "openai:gpt-5",
        "max_usd": 2.5,
        "step_timeout_s": 300,
        "max_attempts": 4,
    }
