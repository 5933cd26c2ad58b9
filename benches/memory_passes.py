"""Whether a memory helps the embedded model, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["run"]

PASSES = 5
SECTION = """\
## Memory: the same steps again

The {steps} small steps of benches/gates on the embedded model under the default policy, {passes}
times over; with a memory that is empty at first, and beside it with none, each on half of the
cores. Each pass has seeds of its own, the same with and without. *Right*: accepted, and a hidden
test passes.
[benches/memory](../../benches/memory/README.md) says what this can show and what it can't.

{table}
"""


def run() -> str:
    """Measure; about 75 minutes on two cores."""
    here = Path(__file__).parent
    sys.path[:0] = [str(here / "gates"), str(here / "memory")]
    from by_pass import by_pass
    from passes import measure_passes

    report = measure_passes(PASSES, every=1, seed=0)
    steps = len(report.measured[0].outcomes)
    return SECTION.format(steps=steps, passes=PASSES, table=by_pass(report.measured))
