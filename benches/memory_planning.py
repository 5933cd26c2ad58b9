"""Effect of showing a planner earlier plans, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["run"]

SECTION = """\
## Memory: a planner that is shown earlier plans

Does a planner see the right earlier plan, and what does that cost? **The planner is a script**, so
this says nothing of how well a model plans. It follows the first plan that it is shown, if that
one was completed, and else writes a chain. Hand-written pairs of objectives
(`benches/memory/similar.py`) are searched among {runs:,} synthetic runs of other things, of 4
steps each. All steps take equally long. Seconds are by the clock, with the embedder loaded.

{table}
"""


def run() -> str:
    """Measure."""
    sys.path.insert(0, str(Path(__file__).parent / "memory"))
    from feeding import RUNS, measure, table

    return SECTION.format(runs=RUNS, table=table(measure()))
