"""A script of ours answers within its bounds, or it is said what it took too much of."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.host.bounded import BoundError, ProcessBounds, answer_within

BOUNDS = ProcessBounds(1.0, memory_bytes=256 << 20, answer_bytes=1 << 16)


def answer(folder: Path, code: str, data: bytes = b"", word: str = "") -> bytes:
    script = folder / "script.py"
    script.write_text(f"import os, sys\n{code}", "utf-8")
    return answer_within(script, data, BOUNDS, word)


def test_it_reads_what_it_is_given_and_answers(tmp_path: Path) -> None:
    code = "sys.stdout.write(sys.argv[1] + sys.stdin.read() + str('HOME' in os.environ))"
    assert answer(tmp_path, code, b"b", "a") == b"abFalse"


def test_it_imports_what_this_process_can(tmp_path: Path) -> None:
    assert answer(tmp_path, "import pypdf; sys.stdout.write('x')") == b"x"


@pytest.mark.parametrize(
    ("code", "over"),
    [
        ("while True: pass", "time"),
        ("try:\n  b = bytes(1 << 30)\nexcept MemoryError:\n  os._exit(3)", "memory"),
        ("sys.stdout.write('a' * (1 << 20))", "answer"),
        ("raise ValueError", ""),
        ("os.kill(os.getpid(), 9)", ""),
    ],
    ids=["time", "memory", "answer", "an error", "a signal"],
)
@pytest.mark.attack("parsers")
def test_what_it_takes_too_much_of_is_said(tmp_path: Path, code: str, over: str) -> None:
    with pytest.raises(BoundError) as caught:
        answer(tmp_path, code)
    assert caught.value.over == over
    assert str(caught.value)
