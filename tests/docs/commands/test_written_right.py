"""Blocks have a language, and what pages name to install and to make is there."""

from __future__ import annotations

import re
import tomllib

import pytest
from docs_pages import FENCE, ROOT
from documented.commands import commands, plain
from documented.fences import LANGUAGES, all_pages, fences

from .typed import NOT_RUN

PAGES = {page: (ROOT / page).read_text("utf-8") for page in all_pages()}
COMMANDS = [plain(command.text) for fence in fences("sh", "console") for command in commands(fence)]
_EXTRAS = re.compile(r"(?:prefect-swarm|'\.)\[([\w,-]+)\]")
_IN_CODE = re.compile(r"`([^`\n]+)`")
_MADE = re.compile(r"(?:^|\$ |&& )make((?: +[\w=./-]+)*)", re.MULTILINE)


def test_each_block_has_a_language() -> None:
    without = [f"{f.page}:{f.line}" for f in fences() if f.language not in LANGUAGES]
    assert without == []


@pytest.mark.parametrize("begins", [begins for begins, _ in NOT_RUN])
def test_each_reason_not_to_type_is_some_command_s(begins: str) -> None:
    assert any(re.match(begins, command) for command in COMMANDS)


def test_extras_that_pages_name_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [(page, names) for page, text in PAGES.items() for names in _EXTRAS.findall(text)]
    assert len(named) > 5
    extras = set(project["optional-dependencies"])
    assert [(page, names) for page, names in named if not set(names.split(",")) <= extras] == []


def test_targets_that_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = [
        (page, word)
        for page, text in PAGES.items()
        for code in code_of(text)
        for words in _MADE.findall(code)
        for word in words.split()
        if "=" not in word
    ]
    assert len(named) > 10
    assert [(page, word) for page, word in named if word not in targets] == []


def code_of(text: str) -> list[str]:
    """The blocks of a page, and the code in its sentences."""
    return [*(match["text"] for match in FENCE.finditer(text)), *_IN_CODE.findall(text)]
