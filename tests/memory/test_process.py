"""The process that writes a graph answers, ends with who started it, and says what went wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory import graph_process
from prefect_swarm.memory.graph_process import GraphProcess

_MANY = "UNWIND range(1, 1000000)"
LONG = f"{_MANY} AS a {_MANY} AS b RETURN count(a % b) AS n"
"""A statement that takes hours."""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[GraphProcess]:
    made = GraphProcess(tmp_path / "g.kuzu")
    yield made
    made.close()


def test_it_answers_what_it_is_asked(process: GraphProcess) -> None:
    assert process.rows("RETURN $a AS a, 1 + 1 AS b", {"a": ["ä\n"]}) == [{"a": ["ä\n"], "b": 2}]


def test_after_a_refusal_it_answers_on(process: GraphProcess) -> None:
    with pytest.raises(MemoryStoreError, match="could not answer 'Hallo'"):
        process.rows("Hallo", {})
    assert process.rows("RETURN 1 AS a", {}) == [{"a": 1}]


def test_a_file_that_is_no_graph_is_said(tmp_path: Path) -> None:
    (tmp_path / "g.kuzu").write_bytes(b"no graph" * 1000)
    with pytest.raises(MemoryStoreError, match="can't be opened"):
        GraphProcess(tmp_path / "g.kuzu")


def test_its_end_is_an_error_and_then_there_is_nothing_to_close(tmp_path: Path) -> None:
    process = GraphProcess(tmp_path / "g.kuzu")
    process._process.kill()
    for _ in range(2):
        with pytest.raises(MemoryStoreError, match="has ended with status -9"):
            process.rows("RETURN 1", {})
    process.close()


def test_closing_it_twice_ends_it_in_order_and_it_answers_no_more(process: GraphProcess) -> None:
    for _ in range(2):
        process.close()
        with pytest.raises(MemoryStoreError, match="has ended with status 0"):
            process.rows("RETURN 1", {})


def test_an_interrupted_request_ends_the_process(
    process: GraphProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int = -1) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(process._process.stdout, "readline", interrupt)
    with pytest.raises(KeyboardInterrupt):
        process.rows(LONG, {})
    assert process._process.returncode is not None


def test_a_closed_input_ends_the_process_during_a_statement(tmp_path: Path) -> None:
    command = [sys.executable, "-m", graph_process.__name__, str(tmp_path / "g.kuzu")]
    reading, writing = os.pipe()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing) as server:
        os.close(writing)
        assert server.stdin is not None
        assert os.read(reading, 100) == b"[]\n"
        server.stdin.write(f'["{LONG}", {{}}]\n'.encode())
        server.stdin.close()
        assert server.wait(60) == 1
    assert os.read(reading, 100) == b""
    os.close(reading)


def test_closed_at_once_after_the_close_request_it_still_ends_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", graph_process.__name__, str(tmp_path / "g.kuzu")]
    done = subprocess.run(command, input=b"null\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"[]\n[]\n")
