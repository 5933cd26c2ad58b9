"""A file that is not UTF-8 is named with the byte that isn't, wherever a text file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Invoke

BAD = "objective\ncaf\N{LATIN SMALL LETTER E WITH ACUTE}\n".encode("latin-1")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--plan", "{}"],
        ["plan", "--plan", "{}"],
        ["run", "x", "--policy", "{}"],
        ["run", "--items", "{}", "--template", "{{item}}"],
        ["batch", "{}"],
        ["gates", "check", "{}"],
        ["gates", "check", "a.py", "--plan", "{}"],
        ["train", "--data", "{}"],
    ],
    ids=" ".join,
)
def test_the_byte_and_what_to_do_are_said(
    arguments: list[str], tmp_path: Path, invoke: Invoke
) -> None:
    (path := tmp_path / "bad.txt").write_bytes(BAD)
    result = invoke(*[argument.format(path) for argument in arguments])
    assert result.exit_code == 2
    assert f"{path} can't be read as UTF-8: byte 14 is 0xe9, in line 2." in result.stderr
    assert "Save it as UTF-8" in result.stderr
    assert "Check the path" not in result.stderr


def test_standard_input_is_read_in_the_same_way(invoke: Invoke) -> None:
    result = invoke("run", "--plan", "-", stdin=BAD)
    assert result.exit_code == 2
    assert "The text on standard input can't be read as UTF-8: byte 14" in result.stderr


def test_a_persona_is_read_in_the_same_way(swarm_home: Path, invoke: Invoke) -> None:
    (swarm_home / "personas").mkdir(parents=True)
    (path := swarm_home / "personas" / "judge.yaml").write_bytes(BAD)
    result = invoke("memory", "personas")
    assert result.exit_code == 2
    assert f"The persona {path} can't be read as UTF-8: byte 14" in result.stderr


def test_a_line_that_is_imported_is_named_with_its_byte(tmp_path: Path, invoke: Invoke) -> None:
    (path := tmp_path / "bad.jsonl").write_bytes(b"\ncaf\xe9\n")
    result = invoke("memory", "import", path)
    assert result.exit_code == 2
    assert "line 2: it is not UTF-8 text: byte 4 is 0xe9" in result.stderr
