"""The command starts quickly and has an option for everything a run can be told."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from prefect_swarm.cli.options import NOT_HERE, flag_of
from prefect_swarm.flows.options import SwarmOptions

from .conftest import Invoke, loaded_by

HEAVY = ("prefect", "pydantic_ai", "llama_cpp", "torch", "httpx")


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_does_not_wait_for_prefect(argument: str) -> None:
    assert loaded_by(argument, of=(*HEAVY, "numpy")) == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["runs"], ["gates", "list"], ["gates", "check", "{}"], ["memory", "stats"]],
    ids=" ".join,
)
def test_what_needs_no_prefect_does_not_import_it(
    arguments: list[str], tmp_path: Path, swarm_home: Path
) -> None:
    (file := tmp_path / "note.txt").write_text("A note.\n")
    given = [argument.format(file) for argument in arguments]
    assert loaded_by(*given, of=(*HEAVY, "jsonschema", "prefect_swarm.flows.options")) == "[]"


def test_the_version_is_the_packages(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"prefect-swarm {version('prefect-swarm')}\n"


@pytest.mark.parametrize(
    "name", ["run", "plan", "batch", "eval", "resume", "inspect", "doctor", "train", "serve"]
)
def test_every_command_says_what_it_does(name: str, invoke: Invoke) -> None:
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert "--debug" in result.stdout


@pytest.mark.parametrize("command", ["run", "plan", "batch", "eval", "doctor"])
def test_every_option_of_a_run_can_be_given(command: str, invoke: Invoke) -> None:
    text = invoke(command, "--help").stdout
    given = [name for name in SwarmOptions.model_fields if name not in NOT_HERE]
    assert [name for name in given if flag_of(name) not in text] == []


def test_without_arguments_there_is_help(invoke: Invoke) -> None:
    assert "Usage" in invoke().stdout + invoke().stderr
