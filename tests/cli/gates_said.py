"""Output of `gates check` on a file, and a file to check."""

from __future__ import annotations

import json

from typer.testing import Result

__all__ = ["TIDY", "statuses"]

TIDY = 'def greet(name):\n    return f"Hello {name}"\n'


def statuses(result: Result) -> dict[str, str]:
    """What `--json` said of each gate that ran."""
    return {gate["gate"]: gate["status"] for gate in json.loads(result.stdout)["gates"]}
