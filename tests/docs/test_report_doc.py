"""docs/how-to/report.md says what the command does, and its pictures are there."""

from __future__ import annotations

import re

import typer
from docs_pages import page_path
from prefect_swarm.cli.app import app
from prefect_swarm.tasks.report.drawn.graph import LEAST_ALIKE, MOST_BOXES
from prefect_swarm.tasks.report.html.document import MOST_CHARS

PATH = page_path("report.md")
PAGE = PATH.read_text("utf-8")
NUMBERS = {5: "Five"}


def test_its_options_are_those_of_the_command() -> None:
    command = typer.main.get_command(app).commands["report"]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    used = set(re.findall(r"(--[a-z-]+)", "\n".join(re.findall(r"(?s)```\n(.*?)```", PAGE))))
    assert used
    assert used <= known


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert pictures
    assert [name for name in pictures if not (PATH.parent / name).is_file()] == []


def test_its_bounds_are_those_of_the_program() -> None:
    words = " ".join(PAGE.split())
    assert f"more than {MOST_BOXES} cards" in words
    assert f"at most {MOST_CHARS:,} characters" in words
    assert f"{NUMBERS[LEAST_ALIKE]} or more steps that need the same steps" in words
