"""Whether the memory learns whom to give a step, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

__all__ = ["run"]

SEEDS = range(20)
SECTION = """\
## Memory: learning in a simulated world

Does the memory learn who is good at what? [The bench](../../benches/memory/README.md) has the
world, the players and other worlds. Figures are regret a step: by how much the best persona's rate
is above the chosen one's, a mean of the 50 runs before the named one. They are over {seeds} seeds
that the memory's settings weren't tuned by. A third of the personas change at run 500. *Of the
rules'*: as a share of the regret of `rules`. *Recover*: runs after the change until regret is
within 10 % of what it was. Goals of `memory`: 15 % after 300 runs, recovery within 100.

{table}
"""


def run() -> str:
    """Measure."""
    sys.path.insert(0, str(Path(__file__).parent / "memory"))
    from learning import SETTINGS, table

    with ProcessPoolExecutor() as pool:
        shown = table(SETTINGS["Skills, 4 steps a run"], SEEDS, pool)
    return SECTION.format(seeds=len(SEEDS), table=shown)
