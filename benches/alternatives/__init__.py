"""The same five jobs in this package and in its alternatives, as their users would do them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))

__all__ = ["run"]


def run() -> str:
    """Measure each job in each way, and return the section of docs/reference/benchmarks.md."""
    from .tables import measured_section

    return measured_section()
