"""What showing a planner earlier plans does, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["run"]

SECTION = """\
## Memory: a planner that is shown earlier plans

**The planner is a script**, so this says nothing of how well a model plans: it follows the first
earlier plan that it is shown, if that one was completed, and else writes a chain in which each step
needs the one before. What is measured is the feeding: whether the right earlier plan is found, and
comes first, among {runs:,} synthetic runs of other things with 4 steps each; how much shorter the
longest path is *if* a planner does follow it; and what it costs. All steps take equally long, and
nothing but their needs makes them wait. Objectives are hand-written pairs
(`benches/memory/similar.py`). Seconds are wall-clock, with the embedder loaded.

{table}
"""


def run() -> str:
    """Measure."""
    sys.path.insert(0, str(Path(__file__).parent / "memory"))
    from feeding import RUNS, measure, table

    return SECTION.format(runs=RUNS, table=table(measure()))
