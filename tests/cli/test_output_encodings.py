"""Output that its stream's encoding can't hold: nothing is lost, and JSON stays JSON."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from provider_server import Reply, provider_server

from .conftest import COMMAND

ANSWER = "Straße → 12 € · 😀"
PLAN = {
    "objective": "Find the Straße → 😀",
    "steps": [{"id": "S1", "agent": "any", "prompt": "Name it → 😀"}],
}
TERMINAL = {"PYTHONIOENCODING": "cp1252", "OPENAI_API_KEY": "x", "TERM": "xterm"}
NOTE = "The output has characters that {} can't encode, written as \\uXXXX here."


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (path := tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    return path


def ended(*arguments: object, encoding: str) -> tuple[int, str, str]:
    """Run a command with standard streams of an encoding; return its code and what it wrote."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env={**os.environ, "PYTHONIOENCODING": encoding, "OPENAI_API_KEY": "x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
    )
    return done.returncode, done.stdout.decode(encoding), done.stderr.decode("utf-8", "replace")


@pytest.mark.usefixtures("swarm_home")
@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-1", "ascii"])
def test_a_text_is_escaped_and_a_line_says_so(encoding: str, plan: Path) -> None:
    code, out, errors = ended("plan", "--plan", plan, encoding=encoding)
    assert code == 0, errors
    assert "\\ud83d\\ude00" in out
    assert "-----" in out
    assert NOTE.format(encoding) in errors
    assert "Traceback" not in errors


@pytest.mark.usefixtures("swarm_home")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_json_stays_the_same_json(encoding: str, plan: Path) -> None:
    code, out, errors = ended("plan", "--plan", plan, "--json", encoding=encoding)
    assert code == 0, errors
    assert json.loads(out)["objective"] == PLAN["objective"]


@pytest.mark.usefixtures("swarm_home")
def test_utf_8_is_written_as_it_is_and_nothing_is_said(plan: Path) -> None:
    code, out, errors = ended("plan", "--plan", plan, encoding="utf-8")
    assert (code, errors) == (0, "")
    assert str(PLAN["objective"]) in out


@pytest.mark.slow
@pytest.mark.usefixtures("new_database")
def test_after_a_paid_run_nothing_is_lost(plan: Path, swarm_home: Path) -> None:
    with provider_server(lambda _: Reply(ANSWER)) as provider:
        options = ("run", "--plan", plan, "--model", provider.name())
        code, out, errors = ended(*options, encoding="cp1252")
    assert code == 0, errors
    assert "Straße \\u2192 12 € · \\ud83d\\ude00" in out
    assert NOTE.format("cp1252") in errors
    assert "Timeline   # working  . waiting for the model  x failed" in out
    assert "prefect-swarm inspect RUN" in errors
    (folder,) = (swarm_home / "runs").iterdir()
    assert json.loads((folder / "result.json").read_text("utf-8"))["answer"] == ANSWER
    _, out, _ = ended("inspect", folder.name, "--page", "timeline", encoding="ascii")
    assert "##" in out
    assert "\\u2588" not in out
    code, out, _ = ended("inspect", folder.name, "--json", encoding="ascii")
    assert (code, json.loads(out)["answer"]) == (0, ANSWER)


@pytest.mark.slow
@pytest.mark.usefixtures("new_database", "swarm_home")
def test_the_live_display_of_a_terminal_without_unicode_breaks_nothing(plan: Path) -> None:
    reading, writing = pty.openpty()
    with provider_server(lambda _: Reply(ANSWER)) as provider:
        process = subprocess.Popen(
            [*COMMAND, "run", "--plan", str(plan), "--model", provider.name()],
            env={
                **os.environ,
                "PYTHONIOENCODING": "cp1252",
                "OPENAI_API_KEY": "x",
                "TERM": "xterm",
            },
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
        )
        os.close(writing)
        shown = b""
        try:
            while part := os.read(reading, 65536):
                shown += part
        except OSError:
            pass  # The other end of a terminal was closed.
        os.close(reading)
        assert process.wait(60) == 0, shown.decode("cp1252", "replace")
    assert b"Traceback" not in shown
    assert "Straße".encode("cp1252") in shown
