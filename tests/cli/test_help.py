"""Help shows what its authors wrote: no word of it is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from prefect_swarm.cli.app import app
from rich.markup import render

from .conftest import Invoke


def commands(found: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, found
    for name, below in getattr(found, "commands", {}).items():
        yield from commands(below, *names, name)


ALL = dict(commands(typer.main.get_command(app)))


def texts(command: Any) -> Iterator[str]:
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_nothing_of_a_help_text_is_taken_for_markup(names: tuple[str, ...]) -> None:
    for text in texts(ALL[names]):
        shown = render(text)
        assert shown.spans == []
        assert shown.plain == re.sub(r"\\(?=\[)", "", text)


def test_the_extras_of_the_training_are_in_its_help(invoke: Invoke) -> None:
    text = " ".join(invoke("train", "--help").stdout.split())
    assert "pip install 'prefect-swarm[demo,train]'" in text


def test_every_command_is_in_the_list(invoke: Invoke) -> None:
    listed = re.findall(r"^│ (\w+) ", invoke("--help").stdout, re.M)
    assert listed == [*typer.main.get_command(app).commands]  # type: ignore[attr-defined]


def test_a_command_that_is_nearly_right_is_suggested(invoke: Invoke) -> None:
    result = invoke("inspekt")
    assert result.exit_code == 2
    assert "Did you mean 'inspect'" in result.stderr
