"""The pages that are made from the code are what the code gives now."""

from __future__ import annotations

import subprocess
import sys

from docs_pages import ROOT


def test_no_generated_page_is_stale() -> None:
    command = [sys.executable, "docs/_build/reference.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    advice = "run: python docs/_build/reference.py"
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{advice}"
