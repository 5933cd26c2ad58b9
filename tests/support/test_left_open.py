"""The tests end without a warning about open files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_llama_cpp_leaves_nothing_open() -> None:
    code = "import left_open, llama_cpp; left_open.close_leaked_files()"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
