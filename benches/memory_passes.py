"""Whether a memory helps the embedded model, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["run"]

PASSES = 5
SECTION = """\
## Memory: the same steps again

Does a memory help the embedded model? The {steps} small steps of
[benches/gates](../../benches/gates/README.md) under the default policy, {passes} times over. A
memory that is empty at first, and beside it none, each on half of the cores; a pass has the same
seeds in both. *Right*: accepted, and a hidden test passes.

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
