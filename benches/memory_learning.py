"""Whether the memory learns whom to give a step, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

__all__ = ["run"]

SEEDS = range(20)
SECTION = """\
## Memory: learning in a simulated world

60 types of task, 18 personas, hidden success rates, four steps a run, one report in twenty wrong;
at run 500 a third of the personas change. Figures are regret a step, by how much the best
persona's rate is above the chosen one's: a mean of the 50 runs before the one named, over {seeds}
seeds that the memory's settings weren't tuned by. The last columns are the regret after 300 runs,
and summed up to there, as shares of that of the rules (the planner's persona, knowing nothing),
and the runs after the change until regret is within 10 % of what it was. ε-greedy and plain Q are
told each step's type; the memory isn't. Goals: 15 % of the rules' regret after 300 runs, recovery
within 100. [benches/memory](../../benches/memory/README.md) has the world, other kinds of it, and
what a Bayesian reaches there that is told what nobody could know.

{table}
"""


def run() -> str:
    """Measure."""
    sys.path.insert(0, str(Path(__file__).parent / "memory"))
    from learning import SETTINGS, table

    with ProcessPoolExecutor() as pool:
        shown = table(SETTINGS["Skills, 4 steps a run"], SEEDS, pool)
    return SECTION.format(seeds=len(SEEDS), table=shown)
