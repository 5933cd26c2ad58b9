"""Each block of Python that a page shows runs as it stands, and prints what is known of it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT
from documented.fences import Fence, fences
from documented.shape import ids_in
from documented.stand_in import Answering
from prefect_swarm.models.llama.gguf import demo_model_path

from .conftest import Typist
from .python_blocks import BLOCKS, Block, block_of
from .typed import typed

FOUND = fences("python")
RUN = [
    pytest.param(fence, marks=[pytest.mark.model] if block_of(fence).asks_model else [])
    for fence in FOUND
    if not (block_of(fence).run_by or block_of(fence).not_run)
]


def name_of(fence: Fence) -> str:
    return f"{fence.page}:{fence.line}"


@pytest.mark.parametrize("fence", RUN, ids=name_of)
def test_it_runs_as_it_stands(
    fence: Fence,
    typist: Typist,
    models: Answering,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    block = block_of(fence)
    models.reply = block.reply
    runs = typist.scene(block.scene)
    monkeypatch.chdir(typist.shell.folder)
    if block.weights:
        Path(block.weights).symlink_to(demo_model_path())
    names: dict[str, Any] = {"__name__": "__main__"}
    for part in (*_before(fence, block), fence):
        run(typed(_with_run(part.text, block, runs), server=typist.server, runs=runs), part, names)
    assert re.fullmatch(block.prints, capsys.readouterr().out)


def run(text: str, fence: Fence, names: dict[str, Any]) -> None:
    """Run a block as a file, or as a cell of a notebook where it awaits."""
    # Its lines have the page's numbers where it fails.
    lines = "\n" * (fence.line - 1) + text
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(lines, fence.page, "exec", flags=flags, dont_inherit=True)
    awaited = eval(code, names)  # noqa: S307 - the page's own
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(awaited)


def _before(fence: Fence, block: Block) -> list[Fence]:
    if not block.after:
        return []
    return [other for other in FOUND if other.page == fence.page and block.after in other.text]


def _with_run(text: str, block: Block, runs: list[str]) -> str:
    for shown in ids_in(text):
        text = text.replace(shown, runs[-1])
    for shown, put in block.put.items():
        text = text.replace(shown, put)
    return text


def test_each_block_of_the_table_is_one_of_its_page() -> None:
    for page, blocks in BLOCKS.items():
        texts = [fence.text for fence in FOUND if fence.page == page]
        for block in blocks:
            assert sum(block.holds in text for text in texts) == 1, (page, block.holds)


def test_the_tests_that_run_blocks_exist() -> None:
    for block in (block for blocks in BLOCKS.values() for block in blocks if block.run_by):
        file, _, function = block.run_by.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text("utf-8"), re.M), function
